import { join } from "node:path";
import { didYouMean, type HomeOnDisk, type PluginRecord } from "portico";
import type { Command, CommandIO, PluginTemplate } from "portico/command-line";
import type { PluginInfo, ShownRuns } from "../routes/plugin-runs.ts";
import { editorConfig } from "./editor-config.ts";
import { removeCommand } from "./extension-rm.ts";
import { writeDirectory } from "./write-directory.ts";

const name = { name: "name", description: "The plugin's name, as in `portico plugins list`" };

const plugins: Command = {
  name: "plugins",
  summary: "List, inspect, make, switch and reload plugins",
  commands: [
    {
      name: "list",
      summary: "All plugins with their state",
      run: async (io) => {
        const answer = await io.gateway.request<{ plugins: PluginRecord[] }>(
          "GET",
          "/kernel/plugins",
        );
        io.show(answer, ({ plugins: all }) =>
          io.table(
            ["NAME", "STATE", "ROOT", "SETUP", ""],
            all.map((one) => [
              one.name,
              one.state,
              one.root,
              one.setupMs === undefined ? "" : `${one.setupMs} ms`,
              one.error ?? one.reason ?? one.description,
            ]),
          ),
        );
      },
    },
    {
      name: "info",
      summary: "One plugin: its version, what it registered, its last error",
      args: [name],
      run: async (io) => io.show(await io.gateway.request<PluginInfo>("GET", pathOf(io)), describe),
    },
    {
      name: "new",
      summary: "Write a working plugin to start from",
      description: "It goes to <home>/plugins/NAME and is live at once where a gateway runs.",
      args: [{ name: "name", description: "Lower-case letters, digits and dashes" }],
      options: {
        kind: {
          type: "string",
          value: "KIND",
          description: "What it is to be; needed where there are several",
        },
      },
      examples: ["portico plugins new my-plugin"],
      run: makePlugin,
    },
    removeCommand("plugins"),
    {
      name: "enable",
      summary: "Switch a plugin on",
      args: [name],
      run: async (io) =>
        report(io, await io.gateway.request<PluginRecord>("POST", pathOf(io, "/enable"))),
    },
    {
      name: "disable",
      summary: "Switch a plugin off",
      args: [name],
      run: async (io) =>
        report(io, await io.gateway.request<PluginRecord>("POST", pathOf(io, "/disable"))),
    },
    {
      name: "reload",
      summary: "Load a plugin anew",
      args: [name],
      run: async (io) => {
        const record = await io.gateway.request<PluginRecord>("POST", pathOf(io, "/reload"));
        report(io, record);
        if (record.error) throw new Error(record.error);
      },
    },
  ],
};
export default plugins;

function pathOf(io: CommandIO, tail = ""): string {
  return `/kernel/plugins/${encodeURIComponent(io.args["name"] ?? "")}${tail}`;
}

function report(io: CommandIO, record: PluginRecord): void {
  io.show(record, (one) => `${one.name}: ${one.state}${one.error ? `: ${one.error}` : ""}`);
}

function describe(one: PluginInfo): string[] {
  const rows: [string, string | number | undefined][] = [
    ["State", one.state],
    ["Error", one.error],
    ["Reason", one.reason],
    ["About", one.description],
    ["Directory", one.dir],
    ["Replaced by", one.shadowedBy],
    [
      "Version",
      one.hash &&
        `${one.hash} (generation ${one.generation}, loaded ${one.loadedAt ?? "but not set up"})`,
    ],
    ["Load, setup", one.setupMs === undefined ? undefined : `${one.loadMs} ms, ${one.setupMs} ms`],
  ];
  return [
    one.name,
    ...rows
      .filter(([, value]) => value !== undefined)
      .map(([label, value]) => `  ${label.padEnd(12)} ${value}`),
    ...Object.entries(one.runs ?? {}).flatMap(([effect, runs]) => sayRuns(effect, runs)),
    ...(one.effects.length
      ? ["  Registered", ...one.effects.map((effect) => `    ${effect}`)]
      : []),
  ];
}

function sayRuns(effect: string, { runs, failures, lastError }: ShownRuns): string[] {
  const said = [`  Runs         ${effect}: ${runs}, of which ${failures} failed`];
  if (lastError === undefined) return said;
  const { at, file, line, message } = lastError;
  return [
    ...said,
    `  Last error   ${at} ${file === undefined ? "" : `${file}:${line}: `}${message}`,
  ];
}

async function makePlugin(io: CommandIO): Promise<void> {
  const plugin = io.args["name"] ?? "";
  if (!/^[a-z][a-z0-9-]{0,63}$/.test(plugin))
    throw new Error(`"${plugin}" is no plugin name: use lower-case letters, digits and dashes.`);
  const home = io.home();
  const dir = join(home.paths.home, "plugins", plugin);
  const template = await templateFor(home, io.options["kind"] as string | undefined);
  const files = template.files(plugin, home.paths.package);
  writeDirectory(dir, { "tsconfig.json": editorConfig(home.paths.package), ...files });
  const record = await io.gateway.request("POST", "/kernel/plugins/rescan").then(
    () => io.gateway.request<PluginRecord>("GET", pathOf(io)),
    () => undefined,
  );
  io.show({ plugin, dir, state: record?.state }, () => [
    `Wrote ${join(dir, "plugin.ts")}${record ? ` (${record.state})` : ""}.`,
    ...(record ? [] : ["It runs as soon as a gateway does: portico start."]),
    `${template.tryIt(plugin)} Edit the file: a save is live at once.`,
  ]);
}

/** Plugins offer the kinds; the only one needs no naming. */
async function templateFor(home: HomeOnDisk, kind: string | undefined): Promise<PluginTemplate> {
  const offered = new Map(
    (await home.definitions()).flatMap(({ templates }) => Object.entries(templates ?? {})),
  );
  const names = [...offered.keys()];
  const found = offered.get(kind ?? (names.length === 1 ? (names[0] as string) : ""));
  if (found) return (await found()).default;
  const near = kind === undefined ? undefined : didYouMean(kind, names);
  const hint = near ? `did you mean ${near}?` : `there is ${names.join(", ") || "none"}.`;
  throw new Error(
    kind === undefined
      ? `Say which kind: --kind ${names.join(", ")}.`
      : `There is no kind ${kind}: ${hint}`,
  );
}
