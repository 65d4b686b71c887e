/* The data of a figure as a table, made when somebody asks for it. */

import { morph } from "./morph.js";
import { moment } from "./readout.js";
import { shedsOf } from "./shed_links.js";
import { amount } from "./words.js";

/** Keep a table in `details` while it is open. */
export class DataTable {
  constructor(details, figure, timeline) {
    Object.assign(this, { details, figure, timeline });
    this.holder = details.querySelector(".scroll");
    details.addEventListener("toggle", () => this.update());
  }

  update() {
    if (this.details.open) morph(this.holder, [this.table()]);
  }

  table() {
    const { figure, timeline } = this;
    const table = document.createElement("table");
    const lines = [...figure.series, ...figure.guides];
    const head = row("th", ["Time", ...lines.map((line) => line.name)]);
    for (const cell of head.children) cell.scope = "col";
    table.createTHead().append(head);
    const body = table.createTBody();
    for (let n = timeline.count - 1; n >= 0; n--) {
      if (timeline.open < 0 || n <= timeline.open) body.append(this.step(lines, n));
    }
    return table;
  }

  step(lines, n) {
    const cells = row("td", lines.map((line) => this.cell(line, n)));
    cells.dataset.key = this.timeline.bounds(n)[0].toISOString();
    const time = document.createElement("th");
    time.scope = "row";
    time.append(...moment(this.timeline, n).slice(0, 3), this.timeline.open === n ? " so far" : "");
    cells.prepend(time);
    return cells;
  }

  cell(line, n) {
    const value = line.values[n];
    if (value === null) return this.timeline.isKnown(n) || n === this.timeline.open ? "–" : "no record";
    const text = amount(value, this.figure.unit);
    const address = line.query ? shedsOf(this.figure, this.timeline, n, line) : null;
    if (!address) return text;
    const link = document.createElement("a");
    link.href = address;
    link.textContent = text;
    return link;
  }
}

function row(tag, contents) {
  const element = document.createElement("tr");
  for (const [index, content] of contents.entries()) {
    const cell = document.createElement(tag);
    if (tag === "td" || index) cell.className = "number";
    cell.append(content);
    element.append(cell);
  }
  return element;
}
