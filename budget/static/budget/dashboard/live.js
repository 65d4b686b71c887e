/* Keeps a board moving by small polls while somebody looks at it. */

import { applyNow } from "./now.js";
import { timeElement } from "./moments.js";

const PATIENCE = 10_000;
const LONGEST_PAUSE = 30_000;

class Refused extends Error {}

export class Live {
  constructor(board, status) {
    this.board = board;
    this.status = status;
    this.pause = Number(board.element.dataset.every) * 1000;
    this.failures = 0;
  }

  start() {
    document.addEventListener("visibilitychange", () => {
      if (!document.hidden) this.poll();
      else clearTimeout(this.timer);
    });
    this.say("good", "Live, as of ", timeElement(new Date(this.board.timeline.at * 1000), "second"));
    this.wait(this.pause);
  }

  wait(milliseconds) {
    clearTimeout(this.timer);
    if (!document.hidden) this.timer = setTimeout(() => this.poll(), milliseconds);
  }

  async poll() {
    clearTimeout(this.timer);
    if (this.asking) return;
    this.asking = true;
    try {
      await this.ask();
      this.failures = 0;
      this.wait(this.pause);
    } catch (error) {
      this.fail(error);
    } finally {
      this.asking = false;
    }
  }

  async ask() {
    const { timeline } = this.board;
    const address = new URL(this.board.element.dataset.live, location);
    address.searchParams.set("since", timeline.since);
    address.searchParams.set("version", timeline.version);
    if (timeline.changed !== null) address.searchParams.set("changed", timeline.changed);
    const options = { credentials: "same-origin", redirect: "manual", signal: AbortSignal.timeout(PATIENCE) };
    const answer = await fetch(address, options);
    if (answer.type === "opaqueredirect") throw new Refused("login");
    if (answer.status === 403 || answer.status === 404) throw new Refused("gone");
    if (!answer.ok) throw new Error(answer.statusText);
    const update = await answer.json();
    if (update.shape !== timeline.shape) await this.board.replace();
    else {
      this.board.advance(update);
      applyNow(this.board.element, update, this.board.timeline);
    }
    this.say("good", "Live, as of ", timeElement(new Date(update.at * 1000), "second"));
  }

  fail(error) {
    if (error instanceof Refused) {
      const words = { login: "You were logged out, so this page stands still. ", gone: "This page may no longer be shown to you. " };
      this.say("bad", words[error.message], again(error.message === "login" ? "Log in" : "Try again"));
      return;
    }
    this.failures += 1;
    this.say("warn", "No answer: these numbers stand still. It goes on by itself once there is one.");
    this.wait(Math.min(LONGEST_PAUSE, Math.max(this.pause, 2000) * this.failures));
  }

  say(tone, ...words) {
    this.status.dataset.tone = tone;
    this.status.replaceChildren(...words);
  }
}

function again(label) {
  const link = document.createElement("a");
  link.href = location.href;
  link.textContent = label;
  return link;
}
