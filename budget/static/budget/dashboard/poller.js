/* Asks for what is new while somebody looks, and says in words whether it is answered. */

import { morph, nodes } from "./morph.js";
import { timeElement } from "./moments.js";

const PATIENCE = 10_000;
const LONGEST_PAUSE = 30_000;
const WORDS = {
  login: ["You were logged out, so this page stands still. ", "Log in"],
  gone: ["This page may no longer be shown to you. ", "Try again"],
};

class Refused extends Error {}

/** Fetch an address of this host. Throws if it isn't answered as it should be. */
export async function asked(address, signal) {
  const answer = await fetch(address, { credentials: "same-origin", redirect: "manual", signal });
  if (answer.type === "opaqueredirect") throw new Refused("login");
  if (answer.status === 403 || answer.status === 404) throw new Refused("gone");
  if (!answer.ok) throw new Error(answer.statusText);
  return answer;
}

/** The part of the page by its id, as the server has it now. */
export async function partOf(address, id, signal) {
  const answer = await asked(address, signal);
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const part = page.getElementById(id);
  if (!part) throw new Error(`no ${id}`);
  return document.adoptNode(part);
}

export class Poller {
  /** `ask(signal)` brings the page up to date and resolves to the moment it shows. */
  constructor(status, seconds, ask) {
    this.said = status.querySelector("[data-said]");
    this.clock = status.querySelector("[data-clock]");
    Object.assign(this, { status, ask, pause: seconds * 1000, failures: 0 });
  }

  start(date) {
    document.addEventListener("visibilitychange", () => {
      if (!document.hidden) this.poll();
      else clearTimeout(this.timer);
    });
    this.live(date);
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
      this.live(await this.ask(AbortSignal.timeout(PATIENCE)));
    } catch (error) {
      this.fail(error);
    } finally {
      this.asking = false;
    }
  }

  live(date) {
    this.failures = 0;
    this.shown = date;
    this.say("good", "Live, ");
    this.tick("as of ");
    this.wait(this.pause);
  }

  fail(error) {
    if (error instanceof Refused) {
      const [words, way] = WORDS[error.message];
      this.say("bad", words, link(way), ". ");
      this.tick("Last answer at ");
      return;
    }
    this.failures += 1;
    this.say("warn", "No answer: these numbers stand still. It goes on by itself once there is one. ");
    this.tick("Last answer at ");
    this.wait(Math.min(LONGEST_PAUSE, Math.max(this.pause, 2000) * this.failures));
  }

  /** Tells how old the numbers are, beside the state, where no screen reader follows it. */
  tick(words) {
    morph(this.clock, nodes(words, timeElement(this.shown, "second")));
  }

  /** Only another state is said. */
  say(tone, ...words) {
    if (this.status.dataset.tone === tone) return;
    this.status.dataset.tone = tone;
    morph(this.said, nodes(...words));
  }
}

function link(label) {
  const element = document.createElement("a");
  element.href = location.href;
  element.textContent = label;
  return element;
}
