/* Moments in the zone of whoever looks. The server writes them in UTC. */

const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
const clock = { hour: "2-digit", minute: "2-digit", hourCycle: "h23" };
const day = { day: "numeric", month: "short" };

const FORMATS = {
  time: new Intl.DateTimeFormat("en-GB", clock),
  second: new Intl.DateTimeFormat("en-GB", { ...clock, second: "2-digit" }),
  day: new Intl.DateTimeFormat("en-GB", day),
  moment: new Intl.DateTimeFormat("en-GB", { ...day, ...clock }),
  full: new Intl.DateTimeFormat("en-GB", { ...day, year: "numeric", ...clock, second: "2-digit" }),
};

/** A moment in words; `format` is `time`, `second`, `day`, `moment` or `full`. */
export function written(date, format = "moment") {
  return FORMATS[format].format(date);
}

/** A `<time>` that says a moment in the viewer's zone. */
export function timeElement(date, format = "moment") {
  const element = document.createElement("time");
  element.dateTime = date.toISOString();
  element.dataset.format = format;
  element.textContent = written(date, format);
  element.title = inUtc(date);
  return element;
}

/** Rewrites every `<time>` within, in the format that its `data-format` names. */
export function localise(within = document) {
  for (const element of within.querySelectorAll("time[datetime]")) {
    const date = new Date(element.dateTime);
    element.textContent = written(date, element.dataset.format);
    element.title = inUtc(date);
  }
  for (const element of within.querySelectorAll("[data-zone]")) element.textContent = zoneName();
}

function inUtc(date) {
  return `${date.toISOString().slice(0, 19).replace("T", " ")} UTC`;
}

function zoneName() {
  const parts = new Intl.DateTimeFormat("en-GB", { timeZoneName: "short" }).formatToParts();
  const short = parts.find((part) => part.type === "timeZoneName").value;
  return zone === short ? zone : `${zone} (${short})`;
}

localise();
