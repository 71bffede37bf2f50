/** Small plots of the last while. */
import { svg } from "./dom.js";

const WIDTH = 120;
const HEIGHT = 28;

/** A line through the points; gaps where a value is null. `label` is read out. */
export function line(values, label) {
  const top = Math.max(1, ...values.filter((value) => value !== null));
  const x = (at) => (values.length < 2 ? WIDTH : (at / (values.length - 1)) * WIDTH);
  const y = (value) => HEIGHT - 2 - (value / top) * (HEIGHT - 4);
  let path = "";
  let down = false;
  for (const [at, value] of values.entries()) {
    // Alone, a point is a short stroke.
    if (value !== null)
      path += down
        ? `L${x(at).toFixed(1)} ${y(value).toFixed(1)}`
        : `M${(x(at) - 2).toFixed(1)} ${y(value).toFixed(1)}h2`;
    down = value !== null;
  }
  return frame(label, "line", path === "" ? [] : [svg("path", { d: path })]);
}

/** One bar a point; of errors in their colour. */
export function bars(values, label, areErrors = false) {
  const top = Math.max(1, ...values);
  const step = WIDTH / values.length;
  const shapes = values.flatMap((value, at) => {
    if (value === 0) return [];
    const height = Math.max(3, (value / top) * (HEIGHT - 4));
    const width = Math.min(8, Math.max(1.5, step - 1));
    return [
      svg("rect", {
        x: ((at + 1) * step - width).toFixed(1),
        y: (HEIGHT - height).toFixed(1),
        width,
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
