/* What a page says in words and numbers, brought up to date. */

import { timeElement } from "./moments.js";
import { tellChanges } from "./changes.js";

/** Put an update's sentences, table, limits and changes in their places. */
export function applyNow(board, update, timeline) {
  board.querySelectorAll("[data-finding]").forEach((place, n) => tell(place, update.findings[n]));
  board.querySelectorAll("[data-row]").forEach((place, n) => fillRow(place, update.rows[n]));
  board.querySelectorAll("[data-level]").forEach((place, n) => fillLevel(place, update.levels[n]));
  const states = document.querySelector("[data-pool-states]");
  if (states) states.replaceChildren(...badges(update.states));
  tellChanges(board.querySelector("[data-changes]"), update.marks, timeline);
}

function tell(place, sentence) {
  const parts = sentence.map((part) =>
    typeof part === "string" ? part : timeElement(new Date(part * 1000), place.dataset.finding),
  );
  if (place.textContent !== parts.map((part) => part.textContent ?? part).join("")) {
    place.replaceChildren(...parts);
  }
}

function fillRow(place, [states, texts, reasons, wouldShed]) {
  place.querySelector("[data-states]").replaceChildren(...badges(states));
  place.querySelectorAll("[data-cell]").forEach((cell, n) => (cell.textContent = texts[n]));
  const list = place.querySelector("[data-reasons]");
  const items = reasons.map(([reason, calls]) => reasonItem(place.dataset.sheds, reason, calls));
  if (wouldShed) items.push(item("would be shed if the pool enforced", wouldShed));
  if (list.textContent.replace(/\s+/g, "") !== items.map((i) => i.textContent).join("").replace(/\s+/g, "")) {
    list.replaceChildren(...items);
  }
  list.closest("tr").hidden = !items.length;
}

function reasonItem(sheds, reason, calls) {
  const words = reason.replaceAll("_", " ");
  if (!sheds) return item(words, calls);
  const link = document.createElement("a");
  link.href = `${sheds}&reason=${encodeURIComponent(reason)}`;
  link.textContent = words;
  return item(link, calls);
}

function item(words, calls) {
  const element = document.createElement("li");
  element.append(words, ` ${calls.toLocaleString("en")}`);
  return element;
}

function fillLevel(place, [left, text, floors]) {
  place.querySelector("meter").value = left;
  place.querySelector("[data-level-text]").textContent = text;
  place.querySelectorAll("[data-floor]").forEach((floor, n) => (floor.textContent = floors[n]));
}

function badges(states) {
  return states.flatMap((state) => {
    const badge = document.createElement("span");
    badge.className = `badge ${state}`;
    badge.textContent = state;
    return [badge, " "];
  });
}
