/* Paths of values that hold for a whole step; a step without a value leaves a gap. */

/** A path builder of uPlot.
 *
 * `below(n)` is where the area of step `n` begins, null for a line without an area; `apart`
 * draws each step as a bar of its own.
 */
export function steps(length, below, apart = false) {
  return (chart, index, first, last) => {
    const fill = new Path2D();
    const stroke = new Path2D();
    const x = (time) => chart.valToPos(time, "x", true);
    const y = (value) => chart.valToPos(value, "y", true);
    let broken = true;
    for (let n = first; n <= last; n++) {
      const value = chart.data[index][n];
      const base = below?.(n);
      if (value === null || (below && value === base)) {
        broken = true;
        continue;
      }
      const middle = chart.data[0][n];
      const [left, right] = edges(x(middle - length / 2), x(middle + length / 2), apart);
      const top = y(value);
      if (below) fill.rect(left, top, right - left, y(base) - top);
      if (below || broken) stroke.moveTo(left, top);
      else stroke.lineTo(left, top);
      stroke.lineTo(right, top);
      broken = false;
    }
    return { stroke, fill: below ? fill : null, clip: null, band: null, gaps: null, flags: 3 };
  };
}

function edges(left, right, apart) {
  const space = apart && right - left > 5 ? 1 : 0;
  return [Math.round(left) + space, Math.round(right) - space];
}
