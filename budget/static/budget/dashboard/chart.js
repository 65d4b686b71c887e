/* One chart: what uPlot draws of a figure, and where its cursor is. */

import { drawGround, drawLabels, drawMarks } from "./ground.js";
import { baseOf, heights } from "./heights.js";
import { colour, look } from "./looks.js";
import { written } from "./moments.js";
import { steps } from "./steps.js";
import { short } from "./words.js";

const FONT = "12px system-ui, sans-serif";
const DAY = 86400;
const NARROW = 12;
const SPANS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 21600, 43200, DAY, 7 * DAY];

export class Chart {
  /** `onStep(n)` hears of each step the cursor comes to, `onDraw()` of each drawing. */
  constructor(figure, timeline, holder, onStep, onDraw = () => {}) {
    Object.assign(this, { figure, timeline, holder, onStep, onDraw, hidden: new Set() });
    this.resized = new ResizeObserver(() => this.resize());
    this.resized.observe(holder);
    this.rebuild();
  }

  /** Draw anew, as when colours changed. */
  rebuild() {
    this.plot?.destroy();
    this.holder.replaceChildren();
    this.heights = heights(this.figure, this.hidden);
    this.plot = new uPlot(this.options(), this.data(), this.holder);
  }

  /** Numbers, or what is hidden, changed; the cursor goes to step `n`, if it is given. */
  update(n) {
    this.heights = heights(this.figure, this.hidden);
    if (n !== undefined) this.plot.setCursor(this.placeOf(n), false);
    this.plot.setData(this.data());
  }

  resize() {
    const { clientWidth: width, clientHeight: height } = this.holder;
    if (width && (width !== this.plot.width || height !== this.plot.height)) {
      this.plot.setSize({ width, height });
    }
  }

  close() {
    this.resized.disconnect();
    this.plot.destroy();
  }

  /** Show what is hidden of these lines, and hide the rest of them. */
  toggle(names) {
    for (const name of names) {
      if (!this.hidden.delete(name)) this.hidden.add(name);
    }
    this.update();
  }

  /** Bring the cursor to a step. */
  point(n) {
    this.plot.setCursor(this.placeOf(n));
  }

  /** Where the cursor is at a step; away from all if `n` is null. */
  placeOf(n) {
    const { clientWidth: width, clientHeight: height } = this.plot.over;
    if (n === null) return { left: -10, top: -10 };
    return { left: ((n + 0.5) / this.timeline.count) * width, top: height / 2 };
  }

  /** The series whose bar is at a height of step `n`; undefined if none is. */
  seriesAt(n, top) {
    const value = this.plot.posToVal(top, "y");
    return this.figure.series.find((_, s) => {
      const height = this.heights[s][n];
      return height !== null && value <= height && value > baseOf(this.heights, s, n);
    });
  }

  data() {
    return [this.timeline.middles, ...this.heights];
  }

  options() {
    const { timeline, figure } = this;
    return {
      width: this.holder.clientWidth,
      height: this.holder.clientHeight,
      padding: [this.holder.hasAttribute("data-marked") ? 26 : 10, 24, 0, 0],
      legend: { show: false },
      cursor: { y: false, points: { show: false }, drag: { x: false, y: false } },
      scales: {
        x: { range: () => [timeline.start, timeline.end] },
        y: { range: () => [0, this.top()] },
      },
      axes: this.axes(),
      series: [
        {},
        ...figure.series.map((line, s) => this.line(line, s)),
        ...figure.guides.map((guide) => this.guide(guide)),
      ],
      hooks: {
        drawClear: [(plot) => drawGround(plot, timeline)],
        draw: [
          (plot) => drawMarks(plot, timeline),
          (plot) => drawLabels(plot, timeline),
          () => this.onDraw(),
        ],
        setCursor: [({ cursor }) => cursor.idx != null && this.onStep(cursor.idx)],
      },
    };
  }

  line({ place, would_be: lightly }, s) {
    const { colour: stroke, dash, fill } = look(place, lightly);
    const { kind } = this.figure;
    if (kind === "lines") return this.drawn({ stroke, dash }, null);
    const base = (n) => baseOf(this.heights, s, n);
    const narrow = this.holder.clientWidth / this.timeline.count < NARROW;
    const edge = narrow && !lightly ? { width: 1 } : { width: 1.5, dash };
    return this.drawn({ stroke, fill, ...edge }, base, kind === "bars");
  }

  guide({ place }) {
    if (place === null) return this.drawn({ stroke: colour("ink") }, null);
    return this.drawn({ stroke: look(place).colour, dash: [6, 4], width: 1.5 }, null);
  }

  drawn(style, base, apart) {
    const paths = steps(this.timeline.step, base, apart);
    return { width: 2, points: { show: false }, ...style, paths };
  }

  top() {
    const most = Math.max(...this.heights.map((line) => Math.max(...line)));
    return most > 0 ? most * 1.08 : 1;
  }

  axes() {
    const line = { stroke: colour("line"), width: 1 };
    const axis = { stroke: colour("quiet"), font: FONT, grid: line, ticks: line };
    const longest = (texts) => Math.max(...texts.map((text) => text.length));
    return [
      {
        ...axis,
        space: 64,
        size: 32,
        values: (_, times, index, space, between) => timeLabels(times, between),
      },
      {
        ...axis,
        space: 36,
        ...(this.figure.unit === "seconds" ? { incrs: SPANS } : {}),
        values: (_, values) => values.map((value) => short(value, this.figure.unit)),
        size: (_, texts) => Math.max(54, 18 + 7 * (texts?.length ? longest(texts) : 0)),
      },
    ];
  }
}

function timeLabels(times, between) {
  return times.map((time) => {
    const date = new Date(time * 1000);
    const midnight = !date.getHours() && !date.getMinutes();
    return written(date, between >= DAY || midnight ? "day" : "time");
  });
}
