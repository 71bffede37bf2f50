/** `portico hooks check`: asks the gateway where one runs, and works without one. */
import { existsSync, realpathSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { readConfigFile } from "../../config/read.ts";
import type { HookCandidate } from "../../extensions/hooks/candidate.ts";
import type { CheckReport } from "../../extensions/hooks/check.ts";
import type { HookRecord } from "../../extensions/hooks/record.ts";
import type { HookSettings } from "../../extensions/hooks/settings.ts";
import type { Root } from "../../extensions/roots.ts";
import { parseKeyPath, valueAt } from "../../text/key-path.ts";
import type { EventSpec } from "../../types.ts";
import type { Command, CommandIO } from "../types.ts";
import { declaredEvents, hookHome } from "./hooks-home.ts";

export const checkHooks: Command = {
  name: "check",
  summary: "Say what is wrong with a hook; all hooks where none is named",
  description:
    "Looks at HOOK.md, the events, the files' safety, and whether the handler compiles and has the right shape. Exits with 1 where something is wrong.",
  args: [{ name: "name", description: "A hook's name or its directory", optional: true }],
  async run(io) {
    const wanted = io.args["name"];
    const dir = wanted === undefined ? undefined : directoryOf(wanted, io);
    const checked = dir ? [await checkDirectory(dir, io)] : await checkByName(wanted, io);
    const ok = checked.every((one) => one.ok);
    io.show({ ok, checked }, () => checked.flatMap(linesOf));
    if (!ok) throw new Error(summaryOf(checked.filter((one) => !one.ok)));
  },
};

function linesOf(one: CheckReport): string[] {
  return [
    `${one.ok ? "ok    " : "wrong "} ${one.name} (${one.events.join(", ") || "no events"})`,
    ...one.problems.map(
      ({ message, file, line }) => `         ${message}${file ? `  [${file}${line ? `:${line}` : ""}]` : ""}`,
    ),
    ...one.warnings.map((warning) => `         note: ${warning}`),
  ];
}

function summaryOf(broken: readonly CheckReport[]): string {
  const first = `${broken[0]?.name}: ${broken[0]?.problems[0]?.message ?? ""}`;
  return broken.length === 1 ? first : `${broken.length} hooks have problems; ${first}`;
}

function directoryOf(wanted: string, io: CommandIO): string | undefined {
  const path = resolve(io.cwd, wanted);
  const isPath = wanted.includes("/") || wanted.startsWith(".") || existsSync(join(path, "HOOK.md"));
  if (!isPath) return undefined;
  if (!existsSync(path)) throw new Error(`There is no directory ${wanted}.`);
  return realpathSync(path);
}

async function checkByName(wanted: string | undefined, io: CommandIO): Promise<CheckReport[]> {
  const asked = await askGateway(wanted, io);
  if (asked) return asked;
  const { rootsOf } = await import("../../extensions/roots.ts");
  const { groupByName } = await import("../../extensions/slot.ts");
  const local = await openLocal(io);
  const groups = groupByName(await local.read(rootsOf("hooks", local.paths, local.settings)));
  const chosen = [...groups].filter(([name]) => wanted === undefined || name === wanted);
  if (wanted !== undefined && chosen.length === 0)
    throw new Error(`There is no hook ${wanted}. Give its directory, or see portico hooks list.`);
  const all = chosen.flatMap(([, { candidates, duplicates }]) => [...candidates.slice(0, 1), ...duplicates]);
  return Promise.all(all.map(local.check));
}

/** The gateway's own findings; undefined where none runs. */
async function askGateway(wanted: string | undefined, io: CommandIO): Promise<CheckReport[] | undefined> {
  let names: string[];
  try {
    const { hooks } = await io.gateway.request<{ hooks: HookRecord[] }>("GET", "/kernel/hooks");
    names = [...new Set(hooks.map((hook) => hook.name))];
  } catch {
    return undefined;
  }
  const chosen = wanted === undefined ? names : [wanted];
  return Promise.all(
    chosen.map((name) => io.gateway.request<CheckReport>("POST", `/kernel/hooks/${encodeURIComponent(name)}/check`)),
  );
}

async function checkDirectory(dir: string, io: CommandIO): Promise<CheckReport> {
  const local = await openLocal(io);
  const candidates = await local.read([{ name: "directory", dir: dirname(dir), rank: 0 }]);
  const candidate = candidates.find((one) => basename(one.dir) === basename(dir));
  if (!candidate) throw new Error(`${dir} is no hook: it has neither HOOK.md nor a handler.`);
  return local.check(candidate);
}

/** Reads and judges hooks as the gateway would, by the configuration as it stands in its file. */
async function openLocal(io: CommandIO) {
  const [{ checkCandidate }, { createPermission }, { hookEntryNames }, { discover }, { createPackageLoader }] =
    await Promise.all([
      import("../../extensions/hooks/check.ts"),
      import("../../extensions/hooks/permission.ts"),
      import("../../extensions/hooks/candidate.ts"),
      import("../../extensions/discover.ts"),
      import("../../extensions/load/package-loader.ts"),
    ]);
  process.setSourceMapsEnabled(true);
  const paths = await hookHome(io);
  const raw = readConfigFile(paths.config) as { hooks?: Partial<HookSettings> };
  const settings: HookSettings = { enabled: true, entries: {}, extraDirs: [], trust: "all", ...raw.hooks };
  const loader = createPackageLoader(paths.package, join(paths.state, "cache"));
  const lookup = (key: string) => valueAt(raw, parseKeyPath(key));
  const permission = createPermission({ paths, env: io.env, loader, settings: () => settings, lookup });
  const specs = new Map(Object.entries(await declaredEvents(io)) as unknown as [string, EventSpec][]);
  return {
    paths,
    settings,
    read: (roots: readonly Root[]) => Promise.all(discover(roots, hookEntryNames).map(permission.read)),
    check: (candidate: HookCandidate) => checkCandidate(candidate, { loader, specs, permission }),
  };
}
