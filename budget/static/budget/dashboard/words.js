/* Numbers in words. */

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 2 });
const compact = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 2 });

/** A number of a unit: `1,204`, or for seconds `4 min 10 s`. */
export function amount(value, unit) {
  return unit === "seconds" ? span(value) : whole.format(value);
}

/** The same in little space: `1.2K`, `4 min`. */
export function short(value, unit) {
  return unit === "seconds" ? span(value, true) : compact.format(value);
}

function span(seconds, brief = false) {
  const parts = [
    [86400, "d"],
    [3600, "h"],
    [60, "min"],
    [1, "s"],
  ];
  const at = Math.max(0, parts.findIndex(([size]) => seconds >= size));
  const first = seconds < 1 ? 3 : at;
  const [size, name] = parts[first];
  const count = first === 3 ? Math.round(seconds * 10) / 10 : Math.floor(seconds / size);
  const rest = parts[first + 1];
  const more = rest ? Math.floor((seconds % size) / rest[0]) : 0;
  return more && !(brief && count >= 10) ? `${count} ${name} ${more} ${rest[1]}` : `${count} ${name}`;
}
