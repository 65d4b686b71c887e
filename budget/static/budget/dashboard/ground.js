/* What is drawn around the lines: time without a record, the step that goes on, policy changes. */

import { colour, pattern } from "./looks.js";

/** Behind everything: what nobody recorded, and the step that still goes on. */
export function drawGround(plot, timeline) {
  const unknown = pattern(colour("edge"), [[0, 8, 8, 0]], 0.06);
  for (const span of timeline.gaps) column(plot, timeline, span, unknown);
  const { open } = timeline;
  if (open >= 0) column(plot, timeline, [open, open], colour("sunken"));
}

/** Above everything, so that no line runs through them: what the spans without numbers are. */
export function drawLabels(plot, timeline) {
  for (const span of timeline.gaps) label(plot, timeline, span, "no record");
  const { open } = timeline;
  if (open >= 0) label(plot, timeline, [open, open], "so far");
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

function column({ ctx, bbox, valToPos }, timeline, span, fill) {
  const [left, right] = edges(valToPos, timeline, span);
  ctx.save();
  ctx.fillStyle = fill;
  ctx.fillRect(left, bbox.top, right - left, bbox.height);
  ctx.restore();
}

/** A text at the top of a span, on a ground of its own, if there is room for it. */
function label({ ctx, bbox, valToPos }, timeline, span, text) {
  const [left, right] = edges(valToPos, timeline, span);
  const em = 11 * devicePixelRatio;
  ctx.save();
  ctx.font = `${em}px system-ui, sans-serif`;
  const width = ctx.measureText(text).width + em;
  if (width < right - left) {
    const middle = (left + right) / 2;
    ctx.fillStyle = colour("surface");
    ctx.fillRect(middle - width / 2, bbox.top + 0.3 * em, width, 1.4 * em);
    ctx.fillStyle = colour("quiet");
    ctx.textAlign = "center";
    ctx.textBaseline = "middle";
    ctx.fillText(text, middle, bbox.top + em);
  }
  ctx.restore();
}

function edges(valToPos, { start, step }, [first, last]) {
  return [first, last + 1].map((n) => valToPos(start + n * step, "x", true));
}
