/* How lines and areas look: colour, pattern and dashes, so that no two need their colour alone. */

const COLOURS = 8;
const DASHES = [[], [7, 3], [2, 3], [8, 3, 2, 3], [12, 4], [4, 2, 1, 2], [1, 3], [10, 2, 4, 2]];
const TILE = 8;
const HATCHED = [1, 3, 4, 6];

const PATTERNS = [
  () => [],
  () => [[0, 8, 8, 0], [-2, 2, 2, -2], [6, 10, 10, 6]],
  () => [[2, 2, 2, 2.01], [6, 6, 6, 6.01]],
  () => [[0, 0, 8, 8], [-2, 6, 2, 10], [6, -2, 10, 2]],
  () => [[0, 4, 8, 4]],
  () => [[0, 4, 8, 4], [4, 0, 4, 8]],
  () => [[4, 0, 4, 8]],
  () => [[0, 4, 4, 0], [4, 0, 8, 4], [8, 4, 4, 8], [4, 8, 0, 4]],
];

/** A colour of the page's style, such as `ink`. */
export function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

/** The look of a place in the order of classes; they repeat only after many.
 *
 * What only would be is drawn `lightly`: hatched, and hardly tinted.
 */
export function look(place, lightly = false) {
  const own = colour(`series-${place % COLOURS}`);
  const turn = Math.floor(place / COLOURS);
  const kind = lightly ? HATCHED[place % HATCHED.length] : (place + 3 * turn) % PATTERNS.length;
  return {
    colour: own,
    dash: DASHES[(place + turn) % DASHES.length],
    fill: pattern(own, PATTERNS[kind](), lightly ? 0.04 : undefined),
  };
}

/** A tinted area with lines in it, for a canvas. */
export function pattern(own, lines, tint = 0.22) {
  const scale = window.devicePixelRatio || 1;
  const tile = document.createElement("canvas");
  tile.width = tile.height = Math.round(TILE * scale);
  const context = tile.getContext("2d");
  context.globalAlpha = tint;
  context.fillStyle = own;
  context.fillRect(0, 0, tile.width, tile.height);
  context.globalAlpha = 0.75;
  context.strokeStyle = own;
  context.lineCap = "round";
  context.lineWidth = 1.2 * scale;
  context.scale(tile.width / TILE, tile.height / TILE);
  context.lineWidth = lines.length === 2 && lines[0][0] === lines[0][2] ? 2 : 1;
  for (const [x0, y0, x1, y1] of lines) {
    context.beginPath();
    context.moveTo(x0, y0);
    context.lineTo(x1, y1);
    context.stroke();
  }
  return context.createPattern(tile, "repeat");
}

/** A small picture of a look, for a legend: an area, or only its line. */
export function swatch({ colour: own, dash, fill }, area) {
  const scale = window.devicePixelRatio || 1;
  const canvas = document.createElement("canvas");
  canvas.width = 26 * scale;
  canvas.height = 14 * scale;
  canvas.className = "swatch";
  const context = canvas.getContext("2d");
  if (area) {
    context.fillStyle = fill;
    context.fillRect(0, 0, canvas.width, canvas.height);
  }
  context.strokeStyle = own;
  context.lineWidth = 2 * scale;
  context.setLineDash(dash.map((length) => length * scale));
  context.beginPath();
  const y = area ? scale : canvas.height / 2;
  context.moveTo(0, y);
  context.lineTo(canvas.width, y);
  context.stroke();
  return canvas;
}
