/* A page of figures: draws them from the data it brought, and keeps them moving. */

import { Figure } from "./figure.js";
import { keepingFocus } from "./focus.js";
import { localise } from "./moments.js";
import { applyNow } from "./now.js";
import { asked, partOf, Poller } from "./poller.js";
import { followSpan } from "./span.js";
import { Timeline } from "./timeline.js";

class Board {
  constructor(element) {
    this.element = element;
    this.fill();
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
      for (const figure of this.figures) figure.restyle();
    });
  }

  /** Draw what the page says. */
  fill() {
    this.timeline = new Timeline(JSON.parse(document.getElementById("board-data").textContent));
    this.figures = [];
    for (const figure of this.timeline.figures) {
      const element = this.element.querySelector(`[data-figure="${figure.name}"]`);
      if (element) this.figures.push(new Figure(element, figure, this.timeline));
    }
  }

  /** Ask for what is new, and show it. */
  async refresh(signal) {
    const { timeline } = this;
    const address = new URL(this.element.dataset.live, location);
    address.searchParams.set("since", timeline.since);
    address.searchParams.set("version", timeline.version);
    if (timeline.changed !== null) address.searchParams.set("changed", timeline.changed);
    const update = await (await asked(address, signal)).json();
    if (update.shape === timeline.shape) this.advance(update);
    else this.replace(await partOf(location.href, "board", signal));
    return this.at;
  }

  /** The moment it shows. */
  get at() {
    return new Date(this.timeline.at * 1000);
  }

  advance(update) {
    const moved = this.timeline.advance(update);
    for (const figure of this.figures) figure.update(moved);
    applyNow(this.element, update, this.timeline);
  }

  /** Lines came or went: take the whole board as it is now, and leave what somebody set. */
  replace(fresh) {
    const states = new Map(this.figures.map((figure) => [figure.name, figure.state]));
    for (const figure of this.figures) figure.close();
    localise(fresh);
    keepingFocus(this.element, () => {
      this.element.replaceChildren(...fresh.childNodes);
      this.fill();
      for (const figure of this.figures) {
        if (states.has(figure.name)) figure.restore(states.get(figure.name));
      }
    });
  }
}

const board = new Board(document.getElementById("board"));
followSpan();
if (board.element.dataset.live) {
  const status = document.querySelector("[data-status]");
  const poller = new Poller(status, Number(board.element.dataset.every), (signal) => board.refresh(signal));
  poller.start(board.at);
}
