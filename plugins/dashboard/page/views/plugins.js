/** Plugins: what each adds to the gateway, and what keeps one from running. */
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
  problem,
  section,
  withCode,
} from "../dom.js";

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
          sort: { column: "plugin" },
          empty: "There are no plugins.",
        }),
      action("Scan the disk", "rescan-plugins", rescan),
    ),
  detail: { load: (name) => get(pathOf(name)), render: renderDetail },
};

async function rescan() {
  const { plugins: all } = await post("/kernel/plugins/rescan");
  return `${count(all.length)} plugins`;
}

function columnsOf(openName) {
  const columns = [
    {
      title: "plugin",
      value: ({ name }) => name,
      cell: ({ name, root, description }) => [
        entryLink("plugins", name, name, { isCurrent: name === openName }),
        h("span", { class: "muted" }, ` ${root}`),
        h("div", { class: "muted small" }, withCode(description ?? "")),
      ],
    },
    { title: "state", value: ({ state }) => state, cell: stateOf },
  ];
  if (openName !== undefined) return columns;
  return [...columns, { title: "", kind: "actions", cell: buttonsOf }];
}

function stateOf({ state, error, reason }) {
  const why = reason ? h("div", { class: "muted small" }, withCode(reason)) : null;
  return [badge(state), problem(error), why];
}

function renderDetail(plugin) {
  const { name, loaded, effects = [], runs = {} } = plugin;
  return [
    h("p", {}, withCode(plugin.description ?? "")),
    stateOf(plugin),
    facts([
      ["from", plugin.root],
      ["directory", plugin.dir],
      ["version", loaded && [`load ${loaded.generation}, `, ago(loaded.loadedAt)]],
    ]),
    buttonsOf(plugin),
    h("h3", {}, "What it adds"),
    effects.length === 0
      ? h("p", { class: "empty" }, "Nothing at the moment.")
      : h(
          "ul",
          { class: "names" },
          effects.map((effect) => h("li", {}, effect, runsOf(runs[effect]))),
        ),
    h(
      "p",
      {},
      h("a", { href: href("configuration", name) }, "Its settings are in the configuration"),
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
  const reload = action("Reload", `reload-${name}`, () => press(name, "reload", "reloaded"), {
    "aria-label": `Reload ${name}`,
  });
  // Without the dashboard nobody could press the other button.
  if (name === "dashboard") return h("div", { class: "row" }, reload);
  if (state === "disabled") return h("div", { class: "row" }, switchButton(name, "Enable"));
  return h("div", { class: "row" }, switchButton(name, "Disable"), reload);
}

function switchButton(name, label) {
  const work = label === "Enable" ? () => press(name, "enable", "enabled") : () => disable(name);
  return action(label, `toggle-${name}`, work, { "aria-label": `${label} ${name}` });
}

async function press(name, verb, word) {
  await post(`${pathOf(name)}/${verb}`);
  return `${name}: ${word}`;
}

async function disable(name) {
  const isConfirmed = await confirmDialog({
    title: `Disable the plugin ${name}?`,
    content: "Its routes and everything else that it adds are gone at once.",
    confirm: "Disable",
  });
  return isConfirmed ? press(name, "disable", "disabled") : false;
}
