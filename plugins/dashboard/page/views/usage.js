/** The page of usage: requests, tokens, costs and times, by date and by model, channel, key, alias, principal or tag. */
import { attempt, get } from "../api.js";
import {
  action,
  count,
  dataTable,
  dollars,
  duration,
  emptyText,
  facts,
  fill,
  h,
  href,
  notice,
  readAddress,
  setQuery,
  numberColumn,
} from "../dom.js";
import { every } from "../rounds.js";
import { drawUsageChart } from "../usage-chart.js";
import { downloadCsv } from "./usage-csv.js";

const ROUND_MS = 10_000;
const HOUR_S = 3600;
const DAY_S = 86_400;
/** The least number of bars: with fewer ones, each would be too wide to read as a bar. */
const MIN_BARS = 12;
/** The values of the range in the address, and their labels. */
const RANGES = [
  ["24h", "last 24 hours"],
  ["7d", "last 7 days"],
  ["30d", "last 30 days"],
  ["90d", "last 90 days"],
  ["365d", "last 365 days"],
];
const DEFAULTS = { since: "30d", by: "model", show: "requests" };
const GROUPS = ["model", "channel", "key", "alias", "principal", "tag"].map((name) => [name, name]);
const MEASURES = [
  ["costUsd", "cost"],
  ["totalTokens", "tokens"],
  ["requests", "requests"],
  ["errors", "errors"],
  ["p50Ms", "duration, p50"],
  ["p95Ms", "duration, p95"],
  ["firstByteP95Ms", "time to first byte, p95"],
];
const TIMES = new Set(["p50Ms", "p95Ms", "firstByteP95Ms"]);
/** The filters of the page "Requests" by group. */
const REQUEST_FILTERS = {
  model: "model",
  alias: "model",
  channel: "channel",
  key: "key",
  principal: "principal",
};

export const usage = {
  id: "usage",
  title: "Usage",
  tools: filterForm,
  mount(root, signal) {
    const container = h("div", {});
    fill(root, container);
    let drawnState;
    let chart = new AbortController();
    const refresh = async () => {
      const choice = choiceOf(readAddress().query);
      const data = await load(choice, signal);
      const text = JSON.stringify([choice, data]);
      if (signal.aborted || text === drawnState) return;
      drawnState = text;
      chart.abort();
      chart = new AbortController();
      draw(container, choice, data, AbortSignal.any([signal, chart.signal]));
    };
    addEventListener("portico:changed", refresh, { signal });
    return every(ROUND_MS, signal, refresh);
  },
};

/** Reads the choice from the address, with the defaults. */
function choiceOf(query) {
  const { since, by, show } = { ...DEFAULTS, ...Object.fromEntries(query) };
  const [from, to] = [query.get("from") ?? "", query.get("to") ?? ""];
  const range = from === "" ? { since } : { from };
  if (to !== "") range.to = to;
  const isHourly = from === "" && since === "24h";
  return { range, by, show, step: isHourly ? "hour" : "day" };
}

function filterForm(query) {
  const values = { ...DEFAULTS, ...Object.fromEntries(query) };
  const select = (name, title, choices) => {
    const onchange = ({ target }) => setQuery({ [name]: target.value });
    const options = choices.map(([value, label]) =>
      h("option", { value, selected: value === values[name] }, label),
    );
    return labelled(title, h("select", { name, onchange }, options));
  };
  const date = (name, title) => {
    const onchange = ({ target }) => setQuery({ [name]: target.value });
    return labelled(title, h("input", { name, type: "date", value: values[name], onchange }));
  };
  return h(
    "section",
    {},
    h(
      "form",
      { class: "filters", onsubmit: (event) => event.preventDefault() },
      select("since", "Range", RANGES),
      date("from", "or from"),
      date("to", "to"),
      select("by", "Group by", GROUPS),
      select("show", "Chart shows", MEASURES),
    ),
  );
}

const labelled = (title, control) => h("label", {}, h("span", {}, title), control);

async function load({ range, by, step }, signal) {
  const readUsage = (period, groups) =>
    get(`/usage?${new URLSearchParams({ ...period, by: groups })}`, { signal });
  const [overTime, byGroup] = await Promise.all([
    attempt(readUsage(range, step)),
    attempt(readUsage(range, by)),
  ]);
  const busy = busyTime(overTime, step);
  const byHour = busy && (await attempt(readUsage(busy, "hour")));
  return { overTime, byGroup, byHour };
}

/** Returns the period to draw by hours if all usage is within two days, since a single day would be a single bar. */
function busyTime({ value }, step) {
  if (step !== "day" || !value?.rows.length) return undefined;
  const { from, to, rows } = value;
  const [first, last] = [rows[0].day, rows.at(-1).day];
  if (Date.parse(last) - Date.parse(first) > DAY_S * 1000) return undefined;
  return { from: from.startsWith(first) ? from : first, to: to.startsWith(last) ? to : last };
}

function draw(container, choice, { overTime, byGroup, byHour }, signal) {
  const error = overTime.error ?? byGroup.error ?? byHour?.error;
  if (error) return fill(container, h("section", {}, notice(error)));
  const { total } = overTime.value;
  const { rows, from, to } = byHour?.value ?? overTime.value;
  const chart = { ...choice, step: byHour ? "hour" : choice.step };
  const plot = h("div", { class: "usage-chart", role: "img", "aria-label": chartLabel(chart) });
  fill(
    container,
    h("section", {}, totals(total)),
    h(
      "section",
      {},
      h(
        "div",
        { class: "title" },
        h("h2", {}, chartTitle(chart)),
        beginningText(chart, overTime.value),
      ),
      rows.length === 0 ? emptyText("No model was used in this period.") : plot,
      valuesTable(chart, rows),
    ),
    groupSection(choice, byGroup.value.rows),
  );
  if (rows.length > 0) drawUsageChart(plot, chartOf(chart, { from, to, rows }), signal);
}

/** Explains why the chart begins later than the range. */
function beginningText({ step }, { from, rows }) {
  const first = rows[0]?.day;
  if (first === undefined || first === from.slice(0, 10)) return null;
  const last = rows.at(-1).day;
  const days = [...new Set([first, last])].join(" and ");
  return h(
    "span",
    { class: "muted small" },
    step === "day" ? `No usage before ${first}` : `Usage only on ${days}`,
  );
}

const measureName = ({ show }) => MEASURES.find(([name]) => name === show)?.[1] ?? show;
const chartTitle = (choice) => `${capital(measureName(choice))} by ${choice.step}`;
const chartLabel = (choice) => `${chartTitle(choice)}. The values are in the table below.`;
const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

function formatOf(show) {
  if (TIMES.has(show)) return duration;
  return show === "costUsd" ? dollars : count;
}

function totals(total) {
  return facts([
    ["requests", count(total.requests)],
    ["errors", `${count(total.errors)}${shareOf(total.errors, total.requests)}`],
    ["prompt tokens", count(total.promptTokens)],
    ["cached prompt tokens", count(total.cachedTokens)],
    ["response tokens", count(total.completionTokens)],
    ["cost", costText(total)],
    ["duration, p50 and p95", timesText(total.p50Ms, total.p95Ms)],
    ["time to first byte, p50 and p95", timesText(total.firstByteP50Ms, total.firstByteP95Ms)],
  ]);
}

/** Formats two percentiles. They are unknown for usage that an older version counted. */
const timesText = (p50, p95) => `${duration(p50)} and ${duration(p95)}`;
const shareOf = (part, whole) => (part > 0 ? ` (${((100 * part) / whole).toFixed(1)} %)` : "");

/** Formats the cost. Requests without a known price are not included, so it is unknown or a lower bound. */
function costText({ costUsd, unpriced }) {
  if (costUsd === null) return "unknown";
  return `${dollars(costUsd)}${unpriced > 0 ? " or more" : ""}`;
}

/**
 * Returns one value for each hour or day, from the first one with usage on. Without usage, sums are zero and times are
 * unknown.
 */
function chartOf({ show, step }, { to, rows }) {
  const stepSeconds = step === "hour" ? HOUR_S : DAY_S;
  const emptyValue = TIMES.has(show) ? null : 0;
  const secondsOf = (row) => Date.parse(row[step]) / 1000;
  const valueAt = new Map(rows.map((row) => [secondsOf(row), row[show] ?? emptyValue]));
  const end = Math.floor(Date.parse(to) / 1000 / stepSeconds) * stepSeconds;
  const start = Math.min(secondsOf(rows[0]), end - (MIN_BARS - 1) * stepSeconds);
  const times = [];
  for (let time = start; time <= end; time += stepSeconds) times.push(time);
  const values = times.map((time) => valueAt.get(time) ?? emptyValue);
  return { times, values, title: measureName({ show }), format: formatOf(show), stepSeconds };
}

const amounts = [
  numberColumn("requests", ({ requests }) => requests),
  numberColumn("errors", ({ errors }) => errors),
  numberColumn("tokens", ({ totalTokens }) => totalTokens),
  numberColumn("p50", ({ p50Ms }) => p50Ms, duration),
  numberColumn("p95", ({ p95Ms }) => p95Ms, duration),
  numberColumn("time to first byte, p95", ({ firstByteP95Ms }) => firstByteP95Ms, duration),
  { title: "cost", kind: "number", value: ({ costUsd }) => costUsd, cell: costText },
];

function valuesTable({ step }, rows) {
  if (rows.length === 0) return null;
  const time = { title: step, value: (row) => row[step], cell: (row) => row[step] };
  return h(
    "details",
    { "data-key": "values" },
    h("summary", {}, "Values"),
    dataTable({ key: "usage-values", columns: [time, ...amounts], rows, empty: "" }),
  );
}

function groupSection({ range, by, step }, rows) {
  const name = {
    title: by,
    value: (row) => row[by] ?? "",
    cell: (row) => groupCell(by, row[by]),
  };
  const download = action("Download CSV", "csv", () => downloadCsv(range, step, by));
  return h(
    "section",
    {},
    h("div", { class: "title" }, h("h2", {}, `By ${by}`), download),
    dataTable({
      key: "usage-groups",
      columns: [name, ...amounts],
      rows,
      empty:
        by === "tag" ? "No request in this period has a tag." : "No model was used in this period.",
    }),
  );
}

function groupCell(by, value) {
  if (value === null) return "no key (the owner)";
  if (value === "") return "none";
  const filter = REQUEST_FILTERS[by];
  if (filter === undefined) return value;
  return h("a", { href: href("requests", undefined, { [filter]: value }) }, value);
}
