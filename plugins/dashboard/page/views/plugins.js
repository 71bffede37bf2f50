/** The page of plugins: what each adds to the gateway, and problems that keep one from running. */
import { attempt, get, post } from "../api.js";
import {
  action,
  ago,
  badge,
  confirmDialog,
  count,
  dataTable,
  entryLink,
  facts,
  h,
  href,
  idText,
  problem,
  section,
  withCode,
} from "../dom.js";
import { writeSwitch } from "../review.js";

const pathOf = (name) => `/kernel/plugins/${encodeURIComponent(name)}`;

export const plugins = {
  id: "plugins",
  title: "Plugins",
  everyMs: 5000,
  load: () => attempt(get("/kernel/plugins")),
  render: (list, openName) =>
    section(
      "Plugins",
      list,
      ({ plugins: rows }) =>
        dataTable({
          key: "plugins",
          columns: columnsOf(openName),
          rows,
          groups: GROUPS,
          groupOf,
          sort: { column: "plugin" },
          empty: "There are no plugins.",
        }),
      action("Scan the disk for plugins", "rescan-plugins", rescan),
    ),
  detail: { load: (name) => get(pathOf(name)), render: renderDetail },
};

async function rescan() {
  const { plugins: all } = await post("/kernel/plugins/rescan");
  return `${count(all.length)} plugins`;
}

const GROUPS = ["Failing", "Features", "Providers", "Internals"];
/** Plugins that only other plugins and the owner's commands use. */
const INTERNALS = new Set([
  "audit",
  "cluster",
  "command-line",
  "deliveries",
  "egress",
  "management",
  "models",
  "request-log",
  "store",
  "telemetry",
  "usage",
]);

function groupOf({ name, error, effects = [] }) {
  if (error) return "Failing";
  if (INTERNALS.has(name)) return "Internals";
  const adds = (kind) => effects.some((effect) => effect.startsWith(`${kind} `));
  return name.startsWith("provider-") || (adds("provider") && !adds("route"))
    ? "Providers"
    : "Features";
}

function columnsOf(openName) {
  const plugin = {
    title: "plugin",
    value: ({ name }) => name,
    cell: ({ name, root }) => [
      entryLink("plugins", name, idText(name), { isCurrent: name === openName }),
      root === "bundled" ? null : h("span", { class: "muted" }, ` ${root}`),
    ],
  };
  const state = { title: "state", value: ({ state }) => state, cell: stateOf };
  if (openName !== undefined) return [plugin, state];
  const purpose = {
    title: "purpose",
    kind: "text",
    cell: ({ description }) => h("div", { class: "small brief" }, withCode(description ?? "")),
  };
  return [plugin, purpose, state, { title: "", kind: "actions", cell: buttonsOf }];
}

function stateOf({ state, error, reason }) {
  const reasonText = reason ? h("div", { class: "muted small" }, withCode(reason)) : null;
  return [badge(state), problem(error), reasonText];
}

function renderDetail(plugin) {
  const { name, loaded, effects = [], runs = {} } = plugin;
  return [
    h("p", {}, withCode(plugin.description ?? "")),
    stateOf(plugin),
    facts([
      ["source", plugin.root],
      ["directory", plugin.dir],
      ["version", loaded && ["loaded ", ago(loaded.loadedAt), ` (load no. ${loaded.generation})`]],
    ]),
    buttonsOf(plugin),
    h("h3", {}, "What the plugin adds"),
    effects.length === 0
      ? h("p", { class: "empty" }, "The plugin adds nothing at the moment.")
      : h(
          "ul",
          { class: "names" },
          effects.map((effect) => h("li", {}, effect, runsOf(runs[effect]))),
        ),
    h(
      "p",
      {},
      h(
        "a",
        { href: href("configuration", name) },
        "The plugin's settings are in the configuration",
      ),
    ),
    name === "dashboard" ? h("p", { class: "hint" }, "This plugin serves the console.") : null,
  ];
}

function runsOf(run) {
  if (!run) return null;
  const text = `: ${count(run.runs)} calls, ${count(run.failures)} failed`;
  return [h("span", { class: "muted small" }, text), problem(run.lastError?.message)];
}

function buttonsOf({ name, state }) {
  const isOn = state !== "disabled";
  const button = (label, key, work) =>
    action(label, `${key}-${name}`, work, { "aria-label": `${label} ${name}` });
  return h(
    "div",
    { class: "row" },
    // A disabled dashboard could not show the button that enables it again.
    name !== "dashboard" &&
      button(isOn ? "Disable" : "Enable", "toggle", () => switchPlugin(name, !isOn)),
    isOn && button("Reload", "reload", () => reload(name)),
  );
}

async function reload(name) {
  await post(`${pathOf(name)}/reload`);
  return `${name}: reloaded`;
}

async function switchPlugin(name, isOn) {
  const confirmDisabling = () =>
    confirmDialog({
      title: `Disable the plugin ${name}?`,
      content: "The routes and everything else that the plugin adds are removed at once.",
      confirm: "Disable",
    });
  if (isOn || (await confirmDisabling()))
    await writeSwitch(["plugins", "entries", name, "enabled"], name, isOn);
  return false;
}
