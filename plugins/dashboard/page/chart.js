/** Small plots of what was seen since the page was opened. */
import { svg } from "./dom.js";

const WIDTH = 120;
const HEIGHT = 28;

/** A line through the points; gaps where a value is undefined. `label` is read out. */
export function line(values, label) {
  const top = Math.max(1, ...values.filter((value) => value !== undefined));
  const x = (at) => (values.length < 2 ? WIDTH : (at / (values.length - 1)) * WIDTH);
  const y = (value) => HEIGHT - 2 - (value / top) * (HEIGHT - 4);
  let path = "";
  let down = false;
  for (const [at, value] of values.entries()) {
    if (value !== undefined) path += `${down ? "L" : "M"}${x(at).toFixed(1)} ${y(value).toFixed(1)}`;
    down = value !== undefined;
  }
  return frame(label, "line", path === "" ? [] : [svg("path", { d: path })]);
}

/** One bar a point. */
export function bars(values, label) {
  const top = Math.max(1, ...values);
  const step = WIDTH / Math.max(values.length, 20);
  const shapes = values.flatMap((value, at) => {
    if (value === 0) return [];
    const height = Math.max(3, (value / top) * (HEIGHT - 4));
    const width = Math.max(1.5, step - 1);
    return [
      svg("rect", { x: (at * step).toFixed(1), y: (HEIGHT - height).toFixed(1), width, height: height.toFixed(1) }),
    ];
  });
  return frame(label, "bars", shapes);
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
