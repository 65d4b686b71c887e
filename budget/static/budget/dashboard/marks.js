/* Labels of policy changes above a chart, each a link to its entry. */

import { written } from "./moments.js";
import { morph } from "./morph.js";

const APART = 22;
const MOST = 3;

/** Put a label at each change; those that would overlap share one. */
export function labelMarks(plot, timeline) {
  const over = plot.over;
  const layer = layerOf(over.parentElement);
  const groups = [];
  for (const [index, mark] of timeline.marks.entries()) {
    const left = over.offsetLeft + plot.valToPos(mark.at, "x");
    const last = groups.at(-1);
    if (last && left - last.left < APART) last.members.push([index + 1, mark]);
    else groups.push({ left, members: [[index + 1, mark]] });
  }
  morph(layer, groups.map(label));
}

function layerOf(wrap) {
  let layer = wrap.querySelector(".marks");
  if (!layer) {
    layer = document.createElement("div");
    layer.className = "marks";
    wrap.append(layer);
  }
  return layer;
}

function label({ left, members }) {
  const [first, last] = [members[0], members.at(-1)];
  const link = document.createElement("a");
  const one = members.length === 1;
  link.textContent = one ? first[0] : `${first[0]}–${last[0]}`;
  link.href = one && first[1].address ? first[1].address : `#${last[1].key}`;
  link.title = members.map(([number, mark]) => `${number}: ${told(mark)}`).join("\n");
  link.setAttribute("aria-label", `Policy change ${link.title.replaceAll("\n", "; ")}`);
  link.dataset.key = first[1].key;
  link.style.left = `${left}px`;
  return link;
}

function told({ at, who, why, lines, version }) {
  const more = lines.length > MOST ? ` and ${lines.length - MOST} more` : "";
  const what = lines.slice(0, MOST).join("; ") + more;
  const led = version ? `; led to policy version ${version}` : "";
  return `${written(new Date(at * 1000))} ${who}${why && `, “${why}”`}: ${what}${led}`;
}
