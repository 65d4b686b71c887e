/* The steps that a page shows, their numbers, and how they move on. */

export class Timeline {
  constructor(data) {
    Object.assign(this, data);
  }

  get end() {
    return this.start + this.count * this.step;
  }

  /** The middle of each step, where a chart has its points. */
  get middles() {
    return Array.from({ length: this.count }, (_, n) => this.start + (n + 0.5) * this.step);
  }

  /** When step `n` begins, and when the next does. */
  bounds(n) {
    const from = this.start + n * this.step;
    return [new Date(from * 1000), new Date((from + this.step) * 1000)];
  }

  /** The step that still goes on; -1 if none does. */
  get open() {
    const n = Math.floor((this.at - this.start) / this.step);
    return n < this.count ? n : -1;
  }

  isKnown(n) {
    return this.known[n] === "1";
  }

  /** Runs of steps of which nothing is known, as first and last; only of steps that are over. */
  get gaps() {
    const found = [];
    const over = this.open < 0 ? this.count : this.open;
    for (let n = 0; n < over; n++) {
      if (this.isKnown(n)) continue;
      const run = found.at(-1);
      if (run?.[1] === n - 1) run[1] = n;
      else found.push([n, n]);
    }
    return found;
  }

  /** From which step on an update must tell: numbers of the last ones may still change. */
  get since() {
    return this.start + Math.max(0, (this.open < 0 ? this.count : this.open) - 1) * this.step;
  }

  /** The moment of the newest policy change; null without any. */
  get changed() {
    return this.marks.at(-1)?.at ?? null;
  }

  /** Take in an update: old steps go, new ones come, those from `since` on are replaced.
   *
   * Returns by how many steps all moved.
   */
  advance(update) {
    const by = (update.start - this.start) / update.step;
    const moved = (old, tail) =>
      Array.from({ length: update.count }, (_, n) => {
        const time = update.start + n * update.step;
        if (time >= update.since) return tail[(time - update.since) / update.step] ?? null;
        return old[(time - this.start) / this.step] ?? null;
      });
    this.figures.forEach((figure, f) => {
      [...figure.series, ...figure.guides].forEach((line, l) => {
        line.values = moved(line.values, update.figures[f][l]);
      });
    });
    this.known = moved(this.known, update.known).map((digit) => digit ?? "0").join("");
    const seen = new Set(this.marks.map((mark) => mark.key));
    const fresh = update.marks.filter((mark) => !seen.has(mark.key));
    this.marks = [...this.marks, ...fresh].filter((mark) => mark.at >= update.start);
    const { start, count, at, version } = update;
    Object.assign(this, { start, count, at, version });
    return by;
  }
}
