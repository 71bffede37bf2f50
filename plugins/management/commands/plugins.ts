import { join } from "node:path";
import { didYouMean, type HomeOnDisk, type PluginRecord } from "portico";
import {
  commandFor,
  type CommandIO,
  defineCommand,
  type PluginTemplate,
} from "portico/command-line";
import type { PluginInfo, ShownRuns } from "../routes/plugin-runs.ts";
import { editorConfig } from "./editor-config.ts";
import { removeCommand } from "./extension-rm.ts";
import { pluginRoutes } from "../routes/routes-schema.ts";
import { writeDirectory } from "./write-directory.ts";

const name = { name: "name", description: "The name of the plugin in `portico plugins list`" };

const list = commandFor<{ plugins: PluginRecord[] }>("GET /kernel/plugins", pluginRoutes.list, {
  name: "list",
  summary: "List all plugins with their state",
  view: ({ plugins }, io) =>
    io.table(
      ["NAME", "STATE", "ROOT", "SETUP", ""],
      plugins.map((plugin) => [
        plugin.name,
        plugin.state,
        plugin.root,
        plugin.setupMs === undefined ? "" : `${plugin.setupMs} ms`,
        plugin.error ?? plugin.reason ?? plugin.description,
      ]),
    ),
});

const info = commandFor<PluginInfo>("GET /kernel/plugins/:name", pluginRoutes.show, {
  name: "info",
  summary: "Show a plugin: its version, what it registered, its last error",
  args: [name],
  view: describe,
});

/** `portico plugins new`. It is not derived from a route, since it writes files with or without a gateway. */
const create = defineCommand({
  name: "new",
  summary: "Create a working plugin as a starting point",
  description:
    "The command writes the plugin to <home>/plugins/NAME. A running gateway activates the plugin at once.",
  args: [
    { name: "name", description: "The name of the plugin: lower-case letters, digits and dashes" },
  ],
  options: {
    kind: {
      type: "string",
      value: "KIND",
      description: "The kind of plugin; optional if there is only one kind",
    },
  },
  examples: ["portico plugins new my-plugin"],
  run: createPlugin,
});

const enable = commandFor<PluginRecord>("POST /kernel/plugins/:name/enable", pluginRoutes.enable, {
  name: "enable",
  summary: "Enable a plugin",
  args: [name],
  view: stateLine,
});

const disable = commandFor<PluginRecord>(
  "POST /kernel/plugins/:name/disable",
  pluginRoutes.disable,
  { name: "disable", summary: "Disable a plugin", args: [name], view: stateLine },
);

const reload = commandFor<PluginRecord>("POST /kernel/plugins/:name/reload", pluginRoutes.reload, {
  name: "reload",
  summary: "Reload a plugin",
  args: [name],
  view: stateLine,
  failure: ({ error }) => error,
});

export default defineCommand({
  name: "plugins",
  summary: "List, inspect, create, enable, disable and reload plugins",
  commands: [list, info, create, removeCommand("plugins"), enable, disable, reload],
});

function stateLine({ name, state, error }: PluginRecord): string {
  return `${name}: ${state}${error ? `: ${error}` : ""}`;
}

function describe(plugin: PluginInfo): string[] {
  const rows: [string, string | number | undefined][] = [
    ["State", plugin.state],
    ["Error", plugin.error],
    ["Reason", plugin.reason],
    ["About", plugin.description],
    ["Directory", plugin.dir],
    ["Replaced by", plugin.shadowedBy],
    [
      "Version",
      plugin.hash &&
        `${plugin.hash} (generation ${plugin.generation}, loaded ${plugin.loadedAt ?? "but not set up"})`,
    ],
    [
      "Load, setup",
      plugin.setupMs === undefined ? undefined : `${plugin.loadMs} ms, ${plugin.setupMs} ms`,
    ],
  ];
  return [
    plugin.name,
    ...rows
      .filter(([, value]) => value !== undefined)
      .map(([label, value]) => `  ${label.padEnd(12)} ${value}`),
    ...Object.entries(plugin.runs ?? {}).flatMap(([effect, runs]) => runLines(effect, runs)),
    ...(plugin.effects.length
      ? ["  Registered", ...plugin.effects.map((effect) => `    ${effect}`)]
      : []),
  ];
}

function runLines(effect: string, { runs, failures, lastError }: ShownRuns): string[] {
  const lines = [`  Runs         ${effect}: ${runs}, of which ${failures} failed`];
  if (lastError === undefined) return lines;
  const { at, file, line, message } = lastError;
  return [
    ...lines,
    `  Last error   ${at} ${file === undefined ? "" : `${file}:${line}: `}${message}`,
  ];
}

async function createPlugin(io: CommandIO): Promise<void> {
  const plugin = io.args["name"] ?? "";
  if (!/^[a-z][a-z0-9-]{0,63}$/.test(plugin))
    throw new Error(`"${plugin}" is not a plugin name: use lower-case letters, digits and dashes.`);
  const home = io.home();
  const dir = join(home.paths.home, "plugins", plugin);
  const template = await loadTemplate(home, io.options["kind"] as string | undefined);
  const files = template.files(plugin, home.paths.package);
  writeDirectory(dir, { "tsconfig.json": editorConfig(home.paths.package), ...files });
  const record = await io.gateway.request("POST", "/kernel/plugins/rescan").then(
    () => io.gateway.request<PluginRecord>("GET", `/kernel/plugins/${plugin}`),
    () => undefined,
  );
  io.show({ plugin, dir, state: record?.state }, () => [
    `Wrote ${join(dir, "plugin.ts")}${record ? ` (${record.state})` : ""}.`,
    ...(record ? [] : ["The plugin runs as soon as you start a gateway: portico start."]),
    `${template.tryIt(plugin)} Edit the file: a saved change is active at once.`,
  ]);
}

/** Finds the template of a kind among those that plugins offer. If there is only one kind, the user need not name it. */
async function loadTemplate(home: HomeOnDisk, kind: string | undefined): Promise<PluginTemplate> {
  const templates = new Map(
    (await home.definitions()).flatMap(({ templates }) => Object.entries(templates ?? {})),
  );
  const names = [...templates.keys()];
  const template = templates.get(kind ?? (names.length === 1 ? (names[0] as string) : ""));
  if (template) return (await template()).default;
  const suggestion = kind === undefined ? undefined : didYouMean(kind, names);
  const hint = suggestion
    ? `did you mean ${suggestion}?`
    : `there is ${names.join(", ") || "none"}.`;
  throw new Error(
    kind === undefined
      ? `Choose a kind: --kind ${names.join(", ")}.`
      : `There is no kind ${kind}: ${hint}`,
  );
}
