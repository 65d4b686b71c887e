/* The list of policy changes below the figures. */

import { timeElement } from "./moments.js";

/** Add new changes on top, and take away those before the time shown. */
export function tellChanges(section, fresh, timeline) {
  if (!section) return;
  const list = section.querySelector(".changes");
  const shown = new Set(timeline.marks.map((mark) => mark.key));
  for (const entry of [...list.children]) {
    if (!shown.has(entry.id)) entry.remove();
  }
  for (const mark of fresh) {
    if (!document.getElementById(mark.key)) list.prepend(entryOf(mark));
  }
  section.hidden = !list.children.length;
}

function entryOf({ key, at, who, why, lines, version, address }) {
  const entry = element("li", "");
  entry.id = key;
  const head = element("p", "");
  const time = timeElement(new Date(at * 1000));
  if (address) {
    const link = element("a", "");
    link.href = address;
    link.append(time);
    head.append(link);
  } else head.append(time);
  head.append(" ", element("strong", who), " ", why ? element("q", why) : quiet("gave no reason"));
  if (version) head.append(" ", quiet(`→ policy version ${version}`));
  const list = element("ul", "");
  list.append(...lines.map((line) => element("li", line)));
  entry.append(head, list);
  return entry;
}

function quiet(text) {
  const span = element("span", text);
  span.className = "quiet";
  return span;
}

function element(tag, text) {
  const made = document.createElement(tag);
  made.textContent = text;
  return made;
}
