/* A page of figures: draws them from the data it brought, and keeps them moving. */

import { Figure } from "./figure.js";
import { Live } from "./live.js";
import { localise } from "./moments.js";
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

  /** Take the new numbers. */
  advance(update) {
    this.timeline.advance(update);
    for (const figure of this.figures) figure.update();
  }

  /** Lines came or went: take the whole board of the page as it is now. */
  async replace() {
    const answer = await fetch(location.href, { credentials: "same-origin" });
    if (!answer.ok) throw new Error(answer.statusText);
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const fresh = page.getElementById("board");
    for (const figure of this.figures) figure.close();
    this.element.replaceChildren(...document.adoptNode(fresh).childNodes);
    localise(this.element);
    this.fill();
  }
}

const board = new Board(document.getElementById("board"));
followSpan();
if (board.element.dataset.live) new Live(board, document.querySelector("[data-status]")).start();
