/** Requests, errors, cost and latency of today, compared with yesterday up to the same time of day. */
import { attempt, get } from "../api.js";
import { count, dollars, duration, h, section } from "../dom.js";

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

/** Loads both days. Days begin at the reader's midnight. */
export async function loadToday() {
  const now = Math.floor(Date.now() / MINUTE_MS) * MINUTE_MS;
  const midnight = new Date(now).setHours(0, 0, 0, 0);
  const readUsage = (from, to) =>
    attempt(get(`/usage?${new URLSearchParams({ from: iso(from), ...(to && { to: iso(to) }) })}`));
  const [today, yesterday] = await Promise.all([
    readUsage(midnight),
    readUsage(midnight - DAY_MS, now - DAY_MS),
  ]);
  return { today, yesterday };
}

const iso = (ms) => new Date(ms).toISOString();

export function todaySection({ today, yesterday }) {
  const before = totalWithRequests(yesterday.value?.total);
  return section(
    "Today",
    today,
    ({ total }) =>
      h(
        "dl",
        { class: "figures" },
        figure("Requests", total, before, ({ requests }) => requests, count),
        figure("Errors", total, before, ({ errors }) => errors, count),
        costFigure(total, before),
        timeFigure("Median duration", total, before, ["p50Ms", "p95Ms"]),
        timeFigure("Median time to first byte", total, before, [
          "firstByteP50Ms",
          "firstByteP95Ms",
        ]),
      ),
    h("span", { class: "muted small" }, comparisonText(yesterday, before)),
  );
}

/** Returns undefined for a day without requests, with which nothing can be compared. */
const totalWithRequests = (total) => (total?.requests > 0 ? total : undefined);

/** Says with what all figures are compared. */
function comparisonText({ value, error }, before) {
  if (error) return "Yesterday's figures could not be loaded";
  const time = new Date(value.to).toLocaleTimeString(undefined, { timeStyle: "short" });
  if (before) return `Compared with yesterday up to ${time}`;
  return `There were no requests yesterday up to ${time}`;
}

/** Shows the cost. It is a lower bound if the price of some requests is unknown. */
function costFigure(today, yesterday) {
  const cost = figure("Cost", today, yesterday, ({ costUsd }) => costUsd, dollars);
  const isPartial = today.costUsd !== null && today.unpriced > 0;
  if (isPartial) cost.append(h("dd", { class: "small" }, "or more, since some prices are unknown"));
  return cost;
}

function figure(name, today, yesterday, select, format) {
  const value = select(today);
  return h(
    "div",
    {},
    h("dt", {}, name),
    h("dd", { class: "figure" }, format(value)),
    yesterday && h("dd", { class: "muted small" }, comparedText(value, select(yesterday), format)),
  );
}

/** Shows the median, and below it the 95th percentile, which shows how long slow requests take. */
function timeFigure(name, today, yesterday, [p50, p95]) {
  const median = figure(name, today, yesterday, (total) => total[p50], duration);
  const compared = yesterday && comparedText(today[p95], yesterday[p95], duration);
  const percentile = `p95 ${duration(today[p95])}`;
  median.append(
    h("dd", { class: "small" }, percentile),
    compared ? h("dd", { class: "muted small" }, compared) : "",
  );
  return median;
}

function comparedText(value, before, format) {
  const text = before === null || before === undefined ? "unknown" : format(before);
  return `yesterday ${text}${changeText(value, before)}`;
}

function changeText(value, before) {
  if (!value || !before) return "";
  const percent = Math.round((100 * (value - before)) / before);
  return ` (${percent > 0 ? "+" : ""}${percent} %)`;
}
