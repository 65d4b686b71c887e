/* How high each line of a figure stands: one upon the other where they are stacked. */

/** Heights of series, then of guides, step by step; null where nothing is known or shown. */
export function heights({ kind, series, guides }, hidden) {
  const stacked = kind !== "lines";
  return [
    ...pile(series, hidden, () => stacked),
    ...pile(guides, hidden, (guide) => guide.place !== null),
  ];
}

/** Where the area of series `s` begins in step `n`, by the heights of all. */
export function baseOf(all, s, n) {
  for (let below = s - 1; below >= 0; below--) {
    const height = all[below][n];
    if (height !== null) return height;
  }
  return 0;
}

function pile(lines, hidden, isStacked) {
  const sums = [];
  return lines.map((line) => {
    if (hidden.has(line.name)) return line.values.map(() => null);
    if (!isStacked(line)) return line.values;
    return line.values.map((value, n) => {
      if (value === null) return null;
      sums[n] = (sums[n] ?? 0) + value;
      return sums[n];
    });
  });
}
