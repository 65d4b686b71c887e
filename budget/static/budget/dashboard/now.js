/* What a page says in words and numbers, brought up to date. */

import { tellChanges } from "./changes.js";
import { timeElement } from "./moments.js";
import { morph, nodes } from "./morph.js";

/** Put an update's sentences, table, limits and changes in their places. */
export function applyNow(board, update, timeline) {
  board.querySelectorAll("[data-finding]").forEach((place, n) => tell(place, update.findings[n]));
  board.querySelectorAll("[data-row]").forEach((place, n) => fillRow(place, update.rows[n]));
  board.querySelectorAll("[data-level]").forEach((place, n) => fillLevel(place, update.levels[n]));
  const states = document.querySelector("[data-pool-states]");
  if (states) morph(states, badges(update.states));
  tellChanges(board.querySelector("[data-changes]"), update.marks, timeline);
}

function tell(place, sentence) {
  const parts = sentence.map((part) =>
    typeof part === "string" ? part : timeElement(new Date(part * 1000), place.dataset.finding),
  );
  morph(place, nodes(...parts));
}

function fillRow(place, [states, texts, shed, wouldShed]) {
  morph(place.querySelector("[data-states]"), badges(states));
  place.querySelectorAll("[data-cell]").forEach((cell, n) => (cell.textContent = texts[n]));
  const list = place.querySelector("[data-reasons]");
  const { sheds } = place.dataset;
  morph(list, [
    ...shed.map(([reason, calls]) => reasonItem(sheds, reason, calls, "shed")),
    ...wouldShed.map(([reason, calls]) => reasonItem(sheds, reason, calls, "would_be")),
  ]);
  list.closest("tr").hidden = !list.children.length;
}

function reasonItem(sheds, reason, calls, decision) {
  const item = document.createElement("li");
  item.dataset.key = `${decision} ${reason}`;
  const words = `${decision === "shed" ? "" : "would be: "}${reason.replaceAll("_", " ")}`;
  item.append(sheds ? link(`${sheds}&${new URLSearchParams({ reason, decision })}`, words) : words);
  item.append(` ${calls.toLocaleString("en")}`);
  return item;
}

function link(address, words) {
  const element = document.createElement("a");
  element.href = address;
  element.textContent = words;
  return element;
}

function fillLevel(place, [used, text, floors]) {
  place.querySelector("meter").value = used;
  place.querySelector("[data-level-text]").textContent = text;
  place.querySelectorAll("[data-floor]").forEach((floor, n) => (floor.textContent = floors[n]));
}

function badges(states) {
  return states.flatMap((state) => {
    const badge = document.createElement("span");
    badge.className = `badge ${state}`;
    badge.textContent = state;
    return nodes(badge, " ");
  });
}
