/* What is drawn around the lines: time without a record, the step that goes on, policy changes. */

import { colour, pattern } from "./looks.js";

/** Behind everything: what nobody recorded, and the step that still goes on. */
export function drawGround(plot, timeline) {
  const unknown = pattern(colour("edge"), [[0, 8, 8, 0]], 0.06);
  for (const [first, last] of timeline.gaps) column(plot, timeline, first, last, unknown, "no record");
  const { open } = timeline;
  if (open >= 0) column(plot, timeline, open, open, colour("sunken"), "so far");
}

/** A line at each policy change. */
export function drawMarks(plot, timeline) {
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.strokeStyle = colour("told");
  ctx.lineWidth = devicePixelRatio;
  ctx.setLineDash([3 * devicePixelRatio, 3 * devicePixelRatio]);
  for (const { at } of timeline.marks) {
    const x = Math.round(plot.valToPos(at, "x", true)) + 0.5;
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
  }
  ctx.restore();
}

function column({ ctx, bbox, valToPos }, { start, step }, first, last, fill, label) {
  const [left, right] = [first, last + 1].map((n) => valToPos(start + n * step, "x", true));
  ctx.save();
  ctx.fillStyle = fill;
  ctx.fillRect(left, bbox.top, right - left, bbox.height);
  ctx.font = `${11 * devicePixelRatio}px system-ui, sans-serif`;
  ctx.fillStyle = colour("quiet");
  ctx.textAlign = "center";
  ctx.textBaseline = "top";
  if (ctx.measureText(label).width < right - left - 4) {
    ctx.strokeStyle = colour("surface");
    ctx.lineWidth = 4 * devicePixelRatio;
    ctx.lineJoin = "round";
    ctx.strokeText(label, (left + right) / 2, bbox.top + 4);
    ctx.fillText(label, (left + right) / 2, bbox.top + 4);
  }
  ctx.restore();
}
