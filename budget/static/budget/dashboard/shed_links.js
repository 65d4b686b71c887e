/* Addresses of the sheds behind a figure. */

/** The sheds of step `n`, of one series or of all; null if there were none. */
export function shedsOf(figure, timeline, n, series = null) {
  const counted = series ? [series] : figure.series.filter((line) => line.query);
  const shed = counted.some((line) => line.query && line.values[n] > 0);
  if (!figure.sheds || !shed) return null;
  const [from, to] = timeline.bounds(n).map((date) => date.toISOString().replace(".000", ""));
  const query = shared(counted);
  return `${figure.sheds}?from=${from}&to=${to}${query && `&${query}`}`;
}

/** What all of them filter by: the class, where each is one reason of it. */
function shared(lines) {
  const [first, ...others] = lines.map((line) => [...new URLSearchParams(line.query)]);
  const has = (query, [name, value]) => query.some(([n, v]) => n === name && v === value);
  return new URLSearchParams(first.filter((pair) => others.every((query) => has(query, pair)))).toString();
}
