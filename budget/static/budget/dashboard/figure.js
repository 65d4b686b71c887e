/* A figure of the page: its chart, legend, cursor, readout and data table. */

import { Chart } from "./chart.js";
import { legend } from "./legend.js";
import { labelMarks } from "./marks.js";
import { morph, nodes } from "./morph.js";
import { readout } from "./readout.js";
import { shedsOf } from "./shed_links.js";
import { DataTable } from "./table.js";

const LEAP = 10;

export class Figure {
  constructor(element, figure, timeline) {
    Object.assign(this, { element, figure, timeline, step: null });
    this.said = element.querySelector(".readout");
    this.holder = element.querySelector(".plot");
    const marked = figure.name === timeline.figures[0].name;
    if (marked) this.holder.dataset.marked = "";
    const onDraw = marked ? () => labelMarks(this.chart.plot, timeline) : undefined;
    this.chart = new Chart(figure, timeline, this.holder, (n) => this.say(n), onDraw);
    this.list = element.querySelector(".legend");
    this.table = new DataTable(element.querySelector(".values"), figure, timeline);
    legend(this.list, this.chart);
    this.listen();
  }

  /** New numbers came, and steps moved by `moved`: the cursor stays with its moment. */
  update(moved) {
    const n = this.step === null || this.step < moved ? null : this.step - moved;
    this.step = n;
    this.chart.update(n);
    this.table.update();
    this.tell("off");
  }

  /** What somebody set: the moment of the cursor, what is hidden, whether the table is open. */
  get state() {
    const moment = this.step === null ? null : this.timeline.bounds(this.step)[0];
    return { moment, hidden: this.chart.hidden, open: this.table.details.open };
  }

  /** Set it as it was on another figure. */
  restore({ moment, hidden, open }) {
    this.chart.toggle([...hidden]);
    legend(this.list, this.chart);
    this.table.details.open = open;
    const n = moment && (moment / 1000 - this.timeline.start) / this.timeline.step;
    // Its place is known once the chart is drawn, which a task of its own does.
    if (moment && n >= 0 && n < this.timeline.count) queueMicrotask(() => this.chart.point(n));
  }

  get name() {
    return this.figure.name;
  }

  restyle() {
    this.chart.rebuild();
    legend(this.list, this.chart);
  }

  close() {
    this.chart.close();
  }

  listen() {
    const { holder } = this;
    holder.tabIndex = 0;
    holder.setAttribute("role", "application");
    holder.setAttribute("aria-roledescription", "chart");
    const leads = this.figure.sheds ? ", Enter for a step's sheds" : "";
    holder.setAttribute("aria-label", `${this.figure.title}: arrow keys move through time${leads}`);
    holder.addEventListener("keydown", (event) => this.press(event));
    holder.addEventListener("click", (event) => this.click(event));
    holder.classList.toggle("leads", Boolean(this.figure.sheds));
  }

  say(n) {
    if (n === this.step) return;
    this.step = n;
    this.tell("polite");
  }

  /** Write the readout; numbers that only moved on interrupt nobody. */
  tell(manners) {
    const { step, figure, timeline } = this;
    this.said.setAttribute("aria-live", manners);
    morph(this.said, step === null ? [] : nodes(...readout(figure, timeline, this.chart.hidden, step)));
  }

  press(event) {
    if (event.target !== this.holder || event.altKey || event.ctrlKey || event.metaKey) return;
    const last = this.timeline.open < 0 ? this.timeline.count - 1 : this.timeline.open;
    const at = Math.min(this.step ?? last + 1, last + 1);
    const moves = {
      ArrowLeft: at - 1,
      ArrowRight: at + 1,
      PageUp: at - LEAP,
      PageDown: at + LEAP,
      Home: 0,
      End: last,
    };
    if (event.key in moves) {
      event.preventDefault();
      this.chart.point(Math.max(0, Math.min(last, moves[event.key])));
    } else if (event.key === "Enter" && this.step !== null) {
      this.go(this.step);
    }
  }

  click(event) {
    const { plot } = this.chart;
    if (event.target !== plot.over || plot.cursor.idx == null) return;
    const n = plot.cursor.idx;
    const series = this.chart.seriesAt(n, plot.cursor.top);
    this.go(n, series?.query ? series : null);
  }

  go(n, series = null) {
    const address = shedsOf(this.figure, this.timeline, n, series);
    if (address) location.assign(address);
  }
}
