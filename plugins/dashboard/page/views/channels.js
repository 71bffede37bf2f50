/** The page of channels and models: the channels with their state, and the names that clients use. */
import { attempt, get, post } from "../api.js";
import {
  action,
  ago,
  badge,
  count,
  dataTable,
  dollars,
  duration,
  entryLink,
  facts,
  h,
  href,
  meter,
  notice,
  problem,
  showToast,
  section,
  showError,
  table,
  numberColumn,
} from "../dom.js";
import { readConfig, reviewEdits, writeSwitch } from "../review.js";
import { aliasSection } from "./aliases.js";
import { addChannel, editChannel } from "./channel-form.js";
import { channelState } from "./channel-state.js";
import { tryBox } from "./try-box.js";

export const channels = {
  id: "channels",
  title: "Channels and models",
  tools: () => tryBox(),
  async load() {
    const [list, config, models] = await Promise.all([
      attempt(get("/channels")),
      attempt(get("/kernel/config")),
      attempt(get("/v1/models")),
    ]);
    return { list, aliases: aliasesOf(config), models };
  },
  render: ({ list, aliases, models }, openName) => [
    section(
      "Channels",
      list,
      ({ channels: rows }) =>
        dataTable({
          key: "channels",
          columns: columnsOf(openName),
          rows,
          empty: "There are no channels yet.",
        }),
      h(
        "button",
        { type: "button", class: "primary", onclick: () => openWith(addChannel) },
        "Add a channel",
      ),
    ),
    aliasSection(aliases, list.value?.channels ?? []),
    section("Models that clients can request", models, ({ data }) => modelNames(data)),
  ],
  detail: { load: loadDetail, render: renderDetail },
};

/** Selects the aliases, so that other changes of the configuration do not draw the page again. */
const aliasesOf = ({ value, error }) => (error ? { error } : { value: value.value.models ?? {} });

/** Opens a form that reads the gateway's state first. An error is shown above the page. */
async function openWith(open, ...rest) {
  try {
    await open(...rest);
  } catch (error) {
    showError(error);
  }
}

function columnsOf(openName) {
  const columns = [
    {
      title: "channel",
      value: ({ name }) => name,
      cell: ({ name, provider, builtin }) => [
        entryLink("channels", name, name, { isCurrent: name === openName }),
        h("div", { class: "muted small" }, builtin ? `${provider}, built in` : provider),
      ],
    },
    { title: "state", value: ({ state }) => state, cell: channelState },
  ];
  if (openName !== undefined) return columns;
  return [
    ...columns,
    {
      title: "models",
      kind: "text",
      cell: ({ models }) => models?.join(", ") ?? "all models that the upstream lists",
    },
    numberColumn("priority", ({ priority }) => priority, String),
    numberColumn("weight", ({ weight }) => weight, String),
    {
      title: "requests",
      kind: "number",
      value: ({ requests }) => requests,
      cell: ({ requests, errors }) => [
        count(requests),
        errors > 0 ? h("div", { class: "small bad" }, `${count(errors)} failed`) : null,
      ],
    },
    numberColumn("first byte", ({ latencyMs }) => latencyMs, duration),
    { title: "", kind: "actions", cell: testButton },
  ];
}

function testButton({ name }) {
  const test = async () => {
    const result = await post(`/channels/${encodeURIComponent(name)}/test`, {});
    if (!result.ok) throw new Error(`${name}: ${result.error}`);
    return `${name} responded in ${result.ms} ms (${result.model}): ${result.answer}`;
  };
  return action("Test", `test-${name}`, test, { "aria-label": `Test ${name}` });
}

function modelNames(data) {
  const names = data.map(({ id }) => id);
  return [
    h("p", { class: "muted" }, `${count(names.length)} names.`),
    h(
      "details",
      { "data-key": "model-names" },
      h("summary", {}, "Show the names"),
      h(
        "ul",
        { class: "names" },
        names.map((name) => h("li", {}, name)),
      ),
    ),
  ];
}

async function loadDetail(name) {
  const [{ channels: all }, sums] = await Promise.all([
    get("/channels"),
    attempt(get(`/usage?since=24h&by=model&channel=${encodeURIComponent(name)}`)),
  ]);
  return { channel: all.find((each) => each.name === name), sums };
}

function renderDetail({ channel, sums }, name) {
  if (channel === undefined) return h("p", { class: "notice" }, `There is no channel ${name}.`);
  const { budget } = channel;
  return [
    facts([
      ["state", channelState(channel)],
      ["provider", channel.provider],
      ["address", channel.baseUrl],
      ["models", channel.models?.join(", ") ?? "all models that the upstream lists"],
      ["priority", String(channel.priority)],
      ["weight", String(channel.weight)],
      ["active requests", `${channel.inFlight}, ${channel.queued} waiting`],
      ["keys", channel.keys > 1 ? `${channel.keys}, ${channel.restingKeys} in cooldown` : null],
      ["first byte", duration(channel.latencyMs)],
      ["budget", budget && budgetOf(name, budget)],
      ["last error", channel.lastError && [ago(channel.lastErrorAt), problem(channel.lastError)]],
    ]),
    buttonsOf(channel),
    h("h3", {}, "Models in the last 24 hours"),
    sums.error ? notice(sums.error) : modelHealth(channel, sums.value.rows),
    h(
      "p",
      {},
      h("a", { href: href("requests", undefined, { channel: name }) }, "Requests to this channel"),
    ),
  ];
}

function budgetOf(name, { usd, per, spentUsd }) {
  if (spentUsd === undefined) return `${dollars(usd)} per ${per}, spending unknown`;
  const text = `${dollars(spentUsd)} of ${dollars(usd)} this ${per}`;
  return [meter(spentUsd, usd, `${name}: ${text}`), text];
}

/** Lists the models with their usage, and resting models without a request in 24 hours. */
function modelHealth({ restingModels = [] }, rows) {
  const idle = restingModels
    .filter((model) => !rows.some((row) => row.model === model))
    .map((model) => ({ model, requests: 0, errors: 0, totalTokens: 0, costUsd: 0 }));
  return table(
    [
      ["model", ({ model }) => model],
      [
        "state",
        ({ model, requests, errors }) => healthOf(restingModels.includes(model), requests, errors),
      ],
      ["requests", ({ requests }) => count(requests), "number"],
      ["errors", ({ errors }) => count(errors), "number"],
      ["tokens", ({ totalTokens }) => count(totalTokens), "number"],
      ["cost", ({ costUsd }) => (costUsd === null ? "unknown" : dollars(costUsd)), "number"],
    ],
    [...rows, ...idle],
    "No model was used in the last 24 hours.",
  );
}

function healthOf(isResting, requests, errors) {
  if (isResting) return badge("resting");
  if (errors === 0) return badge("ok");
  return badge(
    errors === requests ? "failing" : `${Math.round((100 * errors) / requests)} % failed`,
    "bad",
  );
}

function buttonsOf(channel) {
  const { name, builtin, state } = channel;
  if (builtin) return h("div", { class: "row" }, testButton(channel));
  const isOff = state === "disabled";
  const edit = () => openWith(editChannel, name);
  return h(
    "div",
    { class: "row" },
    testButton(channel),
    h("button", { type: "button", "data-key": "edit-channel", onclick: edit }, "Edit"),
    action(isOff ? "Enable" : "Disable", "switch-channel", () => switchChannel(name, isOff)),
    h(
      "button",
      { type: "button", class: "danger", onclick: () => openWith(removeChannel, name) },
      "Remove",
    ),
  );
}

async function switchChannel(name, isOn) {
  await writeSwitch(["channels", name, "enabled"], name, isOn);
  return false;
}

async function removeChannel(name) {
  const { version } = await readConfig();
  const edits = [{ path: ["channels", name], remove: true }];
  if (!(await reviewEdits({ title: `Remove the channel ${name}`, edits, version }))) return;
  location.hash = href("channels");
  showToast(`${name} is removed`);
}
