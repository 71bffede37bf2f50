/** Small plots of the last hour: one value a minute, the newest at the right edge. */
import { svg } from "./dom.js";

const WIDTH = 120;
const HEIGHT = 28;
/** The values of an hour, and the one of the minute that is under way. */
const SLOTS = 61;
const STEP = WIDTH / SLOTS;

/** Where a value stands: what is not there yet leaves the plot empty at its left. */
const leftOf = (at, count) => WIDTH - (count - at) * STEP;

/**
 * A line through the points, with gaps where a value is null. One value alone is no line: the page writes the newest value
 * beside the plot. `label` is read out.
 */
export function line(values, label) {
  const top = Math.max(1, ...values.filter((value) => value !== null));
  const y = (value) => HEIGHT - 2 - (value / top) * (HEIGHT - 4);
  const points = values.map((value, at) =>
    value === null
      ? null
      : `${(leftOf(at, values.length) + STEP).toFixed(1)} ${y(value).toFixed(1)}`,
  );
  const isKnown = (at) => points[at] !== null && points[at] !== undefined;
  const commands = points.flatMap((point, at) => {
    if (point === null) return [];
    if (isKnown(at - 1)) return [`L${point}`];
    return isKnown(at + 1) ? [`M${point}`] : [];
  });
  return frame(label, "line", commands.length === 0 ? [] : [svg("path", { d: commands.join("") })]);
}

/** One bar a minute; of errors in their colour. */
export function bars(values, label, areErrors = false) {
  const top = Math.max(1, ...values);
  const shapes = values.flatMap((value, at) => {
    if (value === 0) return [];
    const height = Math.max(3, (value / top) * (HEIGHT - 4));
    return [
      svg("rect", {
        x: leftOf(at, values.length).toFixed(1),
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
