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
      figure("Requests", total, before, ({ requests }) => requests, count),
      figure("Errors", total, before, ({ errors }) => errors, count),
      figure("Cost", total, before, ({ costUsd }) => costUsd, costText),
      figure("Average time", total, before, ({ averageMs }) => averageMs, duration),
    );
  });
}

/** The sum of a day leaves out its requests whose price is unknown. */
function costText(usd, { unpriced }) {
  return usd !== null && unpriced > 0 ? `${dollars(usd)} or more` : dollars(usd);
}

function figure(name, today, yesterday, select, format) {
  const value = select(today);
  const before = yesterday && select(yesterday);
  return h(
    "div",
    {},
    h("dt", {}, name),
    h("dd", { class: "figure" }, format(value, today)),
    h(
      "dd",
      { class: "muted small" },
      `yesterday by this time ${yesterday ? format(before, yesterday) : "not known"}`,
      changeText(value, before),
    ),
  );
}

function changeText(value, before) {
  if (!value || !before) return "";
  const percent = Math.round((100 * (value - before)) / before);
  return ` (${percent > 0 ? "+" : ""}${percent} %)`;
}
