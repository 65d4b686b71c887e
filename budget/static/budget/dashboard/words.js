/* Numbers in words. */

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 2 });
const tenths = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });
const SIZES = [[1e3, "k"], [1e6, "M"], [1e9, "G"]];

/** A number of a unit: `1,204`, or for seconds `4 min 10 s`. */
export function amount(value, unit) {
  return unit === "seconds" ? span(value) : whole.format(value);
}

/** The same in little space, as the table below the figures: `9,876`, `98.8 k`, `4 min`. */
export function short(value, unit) {
  if (unit === "seconds") return span(value, true);
  if (Math.abs(value) < 10_000) return whole.format(value);
  const [size, letter] = SIZES.find(([size]) => Math.abs(value) < 999.95 * size) ?? SIZES.at(-1);
  return `${tenths.format(value / size)} ${letter}`;
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
