/* What a figure says of the step its cursor is at. */

import { timeElement } from "./moments.js";
import { shedsOf } from "./shed_links.js";
import { amount } from "./words.js";

/** The step in words, with a link to its sheds if there were any. */
export function readout(figure, timeline, hidden, n) {
  const said = [...moment(timeline, n), said_of(figure, timeline, hidden, n)];
  const address = shedsOf(figure, timeline, n);
  return address ? [...said, " ", link(address)] : said;
}

/** When a step was, and whether it still goes on. */
export function moment(timeline, n) {
  const [from, to] = timeline.bounds(n);
  const form = timeline.step * timeline.count > 86400 ? "moment" : "time";
  const open = timeline.open === n ? " (so far)" : "";
  return [timeElement(from, form), "–", timeElement(to, form), `${open}: `];
}

function said_of(figure, timeline, hidden, n) {
  if (timeline.open >= 0 && n > timeline.open) return "still to come.";
  const open = n === timeline.open;
  if (!timeline.isKnown(n)) return open ? "nothing yet." : "nothing was recorded.";
  if (figure.series.every((line) => line.values[n] === null)) return open ? "nothing yet." : "not known.";
  const shown = figure.series.filter((line) => !hidden.has(line.name) && line.values[n] !== null);
  const some = shown.filter((line) => line.values[n] > 0);
  if (!some.length) return `no ${figure.unit.split(/ (?:an?|in) /)[0]}.`;
  const parts = some.map((line) => `${line.name} ${amount(line.values[n], figure.unit)}`);
  if (figure.kind !== "lines" && some.length > 1) {
    const sum = some.reduce((total, line) => total + line.values[n], 0);
    parts.push(`together ${amount(sum, figure.unit)}`);
  }
  const limit = figure.guides.find((guide) => guide.place === null && !hidden.has(guide.name));
  if (limit) parts.push(`of ${amount(limit.values[n], figure.unit)} allowed`);
  return `${parts.join(", ")}.`;
}

function link(address) {
  const element = document.createElement("a");
  element.href = address;
  element.textContent = "See these sheds";
  return element;
}
