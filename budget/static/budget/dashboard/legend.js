/* Names of a figure's lines, as buttons that show and hide them. */

import { colour, look, swatch } from "./looks.js";

/** Fill a list with a button for each series, the limit, and all floors together. */
export function legend(list, chart) {
  const { kind, series, guides } = chart.figure;
  const area = kind !== "lines";
  const limits = guides.filter((guide) => guide.place === null);
  const floors = guides.filter((guide) => guide.place !== null);
  const entries = [
    ...series.map((line) => [line.name, [line.name], swatch(look(line.place, line.would_be), area)]),
    ...limits.map((guide) => [guide.name, [guide.name], swatch({ colour: colour("ink"), dash: [] })]),
  ];
  if (floors.length) {
    const own = floors.length > 1 ? colour("quiet") : look(floors[0].place).colour;
    const names = floors.map((floor) => floor.name);
    const together = floors.some((floor) => floor.nominal) ? "floors (nominal)" : "floors";
    entries.push([floors.length > 1 ? together : names[0], names, swatch({ colour: own, dash: [6, 4] })]);
  }
  list.replaceChildren(...entries.map((entry) => item(chart, ...entry)));
}

function item(chart, label, names, picture) {
  const button = document.createElement("button");
  button.type = "button";
  button.setAttribute("aria-pressed", String(!chart.hidden.has(names[0])));
  button.append(picture, label);
  button.addEventListener("click", () => {
    chart.toggle(names);
    button.setAttribute("aria-pressed", String(!chart.hidden.has(names[0])));
  });
  const entry = document.createElement("li");
  entry.append(button);
  return entry;
}
