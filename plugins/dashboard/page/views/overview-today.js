/** Requests, errors, cost and latency of today, against yesterday up to the same time of day. */
import { attempt, get } from "../api.js";
import { count, dollars, duration, h, section } from "../dom.js";

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

/** Loads both days. Days begin at the reader's midnight. */
export async function loadToday() {
  const now = Math.floor(Date.now() / MINUTE_MS) * MINUTE_MS;
  const midnight = new Date(now).setHours(0, 0, 0, 0);
  const read = (from, to) =>
    attempt(get(`/usage?${new URLSearchParams({ from: iso(from), ...(to && { to: iso(to) }) })}`));
  const [today, yesterday] = await Promise.all([
    read(midnight),
    read(midnight - DAY_MS, now - DAY_MS),
  ]);
  return { today, yesterday };
}

const iso = (ms) => new Date(ms).toISOString();

export function todaySection({ today, yesterday }) {
  return section("Today", today, ({ total }) => {
    const before = yesterday.value?.total;
    return h(
      "dl",
      { class: "figures" },
      figure("Requests", total.requests, before?.requests, count),
      figure("Errors", total.errors, before?.errors, count),
      figure("Cost", total.costUsd, before?.costUsd, costText(total.unpriced)),
      figure("Average time", total.averageMs, before?.averageMs, duration),
    );
  });
}

/** The sum leaves out requests whose price is unknown. */
const costText = (unpriced) => (usd) =>
  usd !== null && unpriced > 0 ? `${dollars(usd)} or more` : dollars(usd);

function figure(name, value, before, format) {
  return h(
    "div",
    {},
    h("dt", {}, name),
    h("dd", { class: "figure" }, format(value)),
    h(
      "dd",
      { class: "muted small" },
      `yesterday by this time ${format(before)}`,
      changeText(value, before),
    ),
  );
}

function changeText(value, before) {
  if (!value || !before) return "";
  const percent = Math.round((100 * (value - before)) / before);
  return ` (${percent > 0 ? "+" : ""}${percent} %)`;
}
