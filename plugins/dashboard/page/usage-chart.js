/** The chart of usage over time, drawn with uPlot: bars with axes, and a legend with the values at the pointer. */
import { h } from "./dom.js";

const HEIGHT = 260;
const LIBRARY = "/dashboard/page/uplot/uPlot.iife.min.js";
const LIBRARY_STYLE = "/dashboard/page/uplot/uPlot.min.css";

let library;

/** Loads the library once, when the first chart is drawn. */
async function loadLibrary() {
  library ??= import(LIBRARY).then(({ default: UPlot }) => UPlot);
  if (!document.querySelector(`link[href="${LIBRARY_STYLE}"]`))
    document.head.append(h("link", { rel: "stylesheet", href: LIBRARY_STYLE }));
  return library;
}

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/**
 * Draws bars into `root`: `times` in seconds since 1970, and one value for each. `format` formats a value, `stepSeconds` is
 * the time between two bars. It draws again when the width or the theme changes, until the signal aborts.
 */
export async function drawUsageChart(root, { times, values, title, format, stepSeconds }, signal) {
  const UPlot = await loadLibrary();
  let plot;
  const draw = () => {
    plot?.destroy();
    plot = new UPlot(
      optionsOf(UPlot, { title, format, stepSeconds, width: widthOf(root) }),
      [times, values],
      root,
    );
  };
  if (signal.aborted) return;
  draw();
  const theme = matchMedia("(prefers-color-scheme: dark)");
  theme.addEventListener("change", draw, { signal });
  const resizeObserver = new ResizeObserver(() =>
    plot.setSize({ width: widthOf(root), height: HEIGHT }),
  );
  resizeObserver.observe(root);
  signal.addEventListener("abort", () => {
    resizeObserver.disconnect();
    plot.destroy();
  });
}

const widthOf = (root) => Math.max(220, Math.floor(root.clientWidth));

function optionsOf(UPlot, { title, format, stepSeconds, width }) {
  const isHourly = stepSeconds < 86_400;
  const axis = { stroke: colour("--muted"), grid: { stroke: colour("--rule"), width: 1 } };
  const timeText = (_plot, seconds) => (seconds === null ? "–" : timeOf(seconds, isHourly));
  return {
    width,
    height: HEIGHT,
    // The gateway sums by days and hours in UTC.
    tzDate: (seconds) => UPlot.tzDate(new Date(seconds * 1000), "Etc/UTC"),
    cursor: { drag: { x: false, y: false } },
    scales: {
      x: { range: (_plot, from, to) => [from - stepSeconds / 2, to + stepSeconds / 2] },
      y: { range: (_plot, _from, to) => [0, to > 0 ? to * 1.1 : 1] },
    },
    axes: [
      axis,
      { ...axis, size: 74, values: (_plot, ticks) => ticks.map((value) => format(value)) },
    ],
    series: [
      { label: isHourly ? "hour (UTC)" : "day (UTC)", value: timeText },
      {
        label: title,
        value: (_plot, value) => (value === null ? "–" : format(value)),
        fill: colour("--accent"),
        // An empty bar with an outline would look like a dash.
        width: 0,
        paths: UPlot.paths.bars({ size: [0.7, 40] }),
        points: { show: false },
      },
    ],
  };
}

function timeOf(seconds, isHourly) {
  const text = new Date(seconds * 1000).toISOString();
  return isHourly ? `${text.slice(0, 10)} ${text.slice(11, 16)}` : text.slice(0, 10);
}
