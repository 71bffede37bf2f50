/** Health, channels and what has just happened. */
import { attempt, get, post } from "../api.js";
import { bars, line } from "../chart.js";
import { action, ago, badge, bytes, duration, h, problem, section, table } from "../dom.js";
import { events } from "../feed.js";

export const overview = {
  id: "overview",
  title: "Overview",
  async load() {
    const [status, channels, store, history] = await Promise.all([
      attempt(get("/kernel/status")),
      attempt(get("/channels")),
      attempt(get("/store")),
      attempt(get("/dashboard/channels")),
    ]);
    return { status, channels, store, history, latest: events.slice(0, 6) };
  },
  render({ status, channels, store, history, latest }) {
    return h(
      "div",
      {},
      section("Health", status, (value) => health(value, store)),
      section("Channels", channels, ({ channels: all }) => [
        channelTable(all, history.value?.channels ?? {}),
      ]),
      section("Latest events", { value: latest }, () => [
        table(
          [
            ["when", ({ timestamp }) => ago(timestamp)],
            ["event", ({ name }) => name],
            ["session", ({ sessionKey }) => sessionKey, "muted"],
          ],
          latest,
          "Nothing has happened since this page was opened.",
        ),
      ]),
    );
  },
};

function health(status, store) {
  const count = (list, state) => list.filter((each) => each.state === state).length;
  const troubled = (list) => list.filter(({ error, state }) => error && state !== "disabled");
  const queued = Object.values(store.value?.queue?.kinds ?? {}).reduce(
    (sum, { queued = 0 }) => sum + queued,
    0,
  );
  return [
    h(
      "dl",
      { class: "facts" },
      fact("State", badge(status.notReady.length === 0 ? "ready" : "not ready")),
      fact("Version", status.version),
      fact("Running for", duration(status.uptimeMs)),
      fact("Memory", bytes(status.memory.rssBytes)),
      fact("Hooks", `${count(status.hooks, "active")} of ${status.hooks.length} active`),
      fact("Plugins", `${count(status.plugins, "active")} of ${status.plugins.length} active`),
      fact(
        "Store",
        store.value ? `${badgeText(store.value)}, ${bytes(store.value.bytes ?? 0)}` : "not there",
      ),
      fact("Waiting work", String(queued)),
    ),
    status.config.problem
      ? problem(`Configuration: ${status.config.problem.message ?? status.config.problem}`)
      : null,
    troubled(status.hooks).map(({ name, error }) => problem(`Hook ${name}: ${error}`)),
    troubled(status.plugins).map(({ name, error }) => problem(`Plugin ${name}: ${error}`)),
  ];
}

const badgeText = ({ ok, problem }) => (ok ? "sound" : (problem ?? "not well"));
const fact = (name, value) => h("div", {}, h("dt", {}, name), h("dd", {}, value));

function channelTable(channels, history) {
  const of = (name) => history[name] ?? { latency: [], failed: [] };
  return table(
    [
      [
        "channel",
        ({ name, provider, baseUrl }) => [
          h("strong", {}, name),
          h("span", { class: "muted" }, ` ${provider}`),
          under(baseUrl),
        ],
      ],
      [
        "state",
        (channel) => [
          badge(channel.state),
          channel.restingUntil ? [", asked again ", ago(channel.restingUntil)] : null,
          channel.restingModels?.length ? under(channel.restingModels.join(", ")) : null,
          problem(channel.problem ?? channel.lastError),
        ],
      ],
      [
        "latency",
        ({ name, latencyMs }) =>
          plot(
            line(of(name).latency, `Latency of ${name}: ${duration(latencyMs)}`),
            duration(latencyMs),
          ),
        "plot",
      ],
      [
        "errors",
        ({ name, errors }) =>
          plot(bars(of(name).failed, `Errors of ${name}: ${errors}`, true), String(errors)),
        "plot",
      ],
      ["attempts", ({ requests }) => String(requests), "number"],
      [
        "in flight",
        ({ inFlight, queued }) => (queued > 0 ? `${inFlight} (+${queued})` : String(inFlight)),
        "number",
      ],
      [
        "",
        ({ name }) =>
          action("Test", `test-${name}`, () => test(name), { "aria-label": `Test ${name}` }),
      ],
    ],
    channels,
    "There are no channels.",
  );
}

const under = (text) => (text ? h("div", { class: "muted small" }, text) : null);
const plot = (chart, text) => [chart, h("span", {}, text)];

async function test(name) {
  const { ok, answer, ms, error, modelsError } = await post(
    `/channels/${encodeURIComponent(name)}/test`,
  );
  if (!ok) throw new Error(`${name}: ${error ?? modelsError ?? "it did not answer"}`);
  return `${name} answered in ${duration(ms)}: ${answer}`;
}
