/* The form for any stretch of time: written in the viewer's zone, sent in UTC. */

export function followSpan() {
  const form = document.querySelector("form[data-span]");
  if (!form) return;
  const fields = [...form.querySelectorAll("input")];
  for (const field of fields) if (field.type !== "hidden") localise(field);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const given = fields.filter(({ value }) => value);
    location.assign(`?${given.map((field) => `${field.name}=${inAddress(field)}`).join("&")}`);
  });
}

/** What is kept stays as it is. */
function inAddress({ type, value }) {
  return type === "hidden" ? encodeURIComponent(value) : inUtc(value);
}

function inUtc(wall) {
  return new Date(wall).toISOString().replace(".000", "");
}

function localise(field) {
  const date = new Date(field.value);
  field.value = "";
  field.type = "datetime-local";
  const wall = new Date(date - date.getTimezoneOffset() * 60_000);
  field.value = Number.isNaN(date.valueOf()) ? "" : wall.toISOString().slice(0, 16);
}
