/** Small plots of the last hour: one value per minute, with the newest at the right edge. */
import { svg } from "./dom.js";

const WIDTH = 120;
const HEIGHT = 28;
/** The values of an hour, and that of the current minute. */
const SLOTS = 61;
const STEP = WIDTH / SLOTS;

/** Returns the x coordinate of a value. With fewer values than slots, the left part of the plot stays empty. */
const xOf = (at, count) => WIDTH - (count - at) * STEP;

/**
 * Draws a line through the values, with gaps where a value is null. A single value between gaps draws nothing: the page
 * writes the newest value next to the plot. Screen readers read `label`.
 */
export function linePlot(values, label) {
  const top = Math.max(1, ...values.filter((value) => value !== null));
  const y = (value) => HEIGHT - 2 - (value / top) * (HEIGHT - 4);
  const points = values.map((value, at) =>
    value === null ? null : `${(xOf(at, values.length) + STEP).toFixed(1)} ${y(value).toFixed(1)}`,
  );
  const hasPoint = (at) => points[at] !== null && points[at] !== undefined;
  const commands = points.flatMap((point, at) => {
    if (point === null) return [];
    if (hasPoint(at - 1)) return [`L${point}`];
    return hasPoint(at + 1) ? [`M${point}`] : [];
  });
  return frame(label, "line", commands.length === 0 ? [] : [svg("path", { d: commands.join("") })]);
}

/** Draws one bar per minute; `areErrors` gives them the colour of errors. */
export function barPlot(values, label, areErrors = false) {
  const top = Math.max(1, ...values);
  const shapes = values.flatMap((value, at) => {
    if (value === 0) return [];
    const height = Math.max(3, (value / top) * (HEIGHT - 4));
    return [
      svg("rect", {
        x: xOf(at, values.length).toFixed(1),
        y: (HEIGHT - height).toFixed(1),
        width: STEP.toFixed(1),
        height: height.toFixed(1),
      }),
    ];
  });
  return frame(label, areErrors ? "bars errors" : "bars", shapes);
}

function frame(label, kind, shapes) {
  return svg(
    "svg",
    {
      class: `chart ${kind}`,
      viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
      role: "img",
      "aria-label": label,
      preserveAspectRatio: "none",
    },
    svg("title", {}, label),
    shapes,
  );
}
