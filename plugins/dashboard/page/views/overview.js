/** The page with the overview: today's figures, problems, channels, and the latest events. */
import { attempt, get, post } from "../api.js";
import { barPlot, linePlot } from "../chart.js";
import {
  action,
  ago,
  badge,
  bytes,
  count,
  dataTable,
  duration,
  entryLink,
  facts,
  h,
  href,
  section,
  table,
  numberColumn,
} from "../dom.js";
import { events } from "../feed.js";
import { channelState } from "./channel-state.js";
import { problemsSection } from "./overview-problems.js";
import { loadToday, todaySection } from "./overview-today.js";

export const overview = {
  id: "overview",
  title: "Overview",
  async load() {
    const [days, status, channels, store, history] = await Promise.all([
      loadToday(),
      attempt(get("/kernel/status")),
      attempt(get("/channels")),
      attempt(get("/store")),
      attempt(get("/dashboard/channels")),
    ]);
    return { days, status, channels, store, history, latest: events.slice(0, 6) };
  },
  render: ({ days, status, channels, store, history, latest }) => [
    todaySection(days),
    problemsSection(status),
    section(
      "Channels",
      channels,
      ({ channels: rows }) => channelTable(rows, history.value?.channels ?? {}),
      h("a", { href: href("channels") }, "All channels"),
    ),
    section("Health", status, (value) => health(value, store)),
    section("Latest events", { value: latest }, latestEvents),
  ],
};

function health(status, store) {
  const activeOf = (list) => {
    const active = list.filter(({ state }) => state === "active");
    return `${active.length} of ${list.length} active`;
  };
  return facts([
    ["state", badge(status.notReady.length === 0 ? "ready" : "not ready")],
    ["version", status.version],
    ["running for", duration(status.uptimeMs)],
    ["memory", bytes(status.memory.rssBytes)],
    ["hooks", activeOf(status.hooks)],
    ["plugins", activeOf(status.plugins)],
    ["store", storeText(store)],
    ["queued items", count(queuedWork(store.value))],
  ]);
}

function storeText({ value }) {
  if (value === undefined) return "not available";
  const state = value.ok ? "ok" : (value.problem ?? "damaged");
  return `${state}, ${bytes(value.bytes ?? 0)}`;
}

function queuedWork(store) {
  const kinds = Object.values(store?.queue?.kinds ?? {});
  return kinds.reduce((sum, { queued = 0 }) => sum + queued, 0);
}

function channelTable(channels, history) {
  const historyOf = ({ name }) => history[name] ?? { latency: [], failed: [] };
  return dataTable({
    key: "overview-channels",
    rows: channels,
    empty: "There are no channels.",
    columns: [
      {
        title: "channel",
        value: ({ name }) => name,
        cell: ({ name, provider }) => [
          entryLink("channels", name),
          h("div", { class: "muted small" }, provider),
        ],
      },
      { title: "state", value: ({ state }) => state, cell: channelState },
      {
        title: "latency, last hour",
        kind: "plot",
        value: (channel) => latencyOf(channel, historyOf(channel)),
        cell: (channel) => latencyPlot(channel, historyOf(channel)),
      },
      {
        title: "errors, last hour",
        kind: "plot",
        value: (channel) => failuresOf(historyOf(channel)),
        cell: (channel) => errorPlot(channel, historyOf(channel)),
      },
      numberColumn("attempts", ({ requests }) => requests, count),
      numberColumn("active", ({ inFlight }) => inFlight, count),
      { title: "", kind: "actions", cell: testButton },
    ],
  });
}

/** Returns the latency in milliseconds; after a restart, the last one before it until the channel is used. */
const latencyOf = ({ latencyMs }, { latency }) =>
  latencyMs ?? latency.findLast((value) => value !== null);

const failuresOf = ({ failed }) => failed.reduce((sum, failures) => sum + failures, 0);

function latencyPlot(channel, history) {
  const latency = latencyOf(channel, history);
  if (latency === undefined) return h("span", { class: "muted small" }, "no response yet");
  const text = duration(latency);
  return [linePlot(history.latency, `Latency of ${channel.name}: ${text}`), h("span", {}, text)];
}

function errorPlot({ name }, history) {
  const text = count(failuresOf(history));
  return [barPlot(history.failed, `Errors of ${name}: ${text}`, true), h("span", {}, text)];
}

function testButton({ name }) {
  return action("Test", `test-${name}`, () => testChannel(name), { "aria-label": `Test ${name}` });
}

async function testChannel(name) {
  const path = `/channels/${encodeURIComponent(name)}/test`;
  const { ok, answer, ms, error, modelsError } = await post(path);
  if (!ok) throw new Error(`${name}: ${error ?? modelsError ?? "it did not respond"}`);
  return `${name} responded in ${duration(ms)}: ${answer}`;
}

function latestEvents(latest) {
  const columns = [
    ["when", ({ timestamp }) => ago(timestamp)],
    ["event", ({ name }) => name],
    ["session", ({ sessionKey }) => sessionKey, "muted"],
  ];
  return table(columns, latest, "No event has occurred since you opened this page.");
}
