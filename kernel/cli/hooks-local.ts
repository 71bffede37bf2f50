/** The parts of `portico hooks` that need no gateway; where one runs, it is asked for its events and its workspace. */
import { existsSync, realpathSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import type { CheckReport } from "../hooks/check.ts";
import { isHookName } from "../hooks/on-disk/name.ts";
import type { HookRecord } from "../hooks/record.ts";
import { type EventOutline, writeHook } from "../hooks/scaffold.ts";
import { readConfigFile } from "../config/read.ts";
import { didYouMean } from "../text/nearest.ts";
import { type PathOptions, resolvePaths } from "../files/paths.ts";
import type { EventSpec, Paths } from "../types.ts";
import { withWorkspace } from "../files/workspace.ts";
import { definitionsOf } from "./definitions.ts";
import type { CommandIO } from "./types.ts";

export interface CheckOutcome {
  ok: boolean;
  checked: CheckReport[];
}

/** `portico hooks new`. */
export async function newHook(io: CommandIO): Promise<void> {
  const hook = io.args["name"] ?? "";
  if (!isHookName(hook))
    throw new Error(`"${hook}" is no hook name: use letters, digits, dots, dashes and underscores.`);
  const wanted = (io.options["event"] as string[] | undefined)?.flatMap((event) => event.split(",")) ?? [];
  const events = await eventsOf(io);
  const names = Object.keys(events);
  if (wanted.length === 0) throw new Error(`Say which event it handles: --event E, with E one of ${names.join(", ")}.`);
  const warnings: string[] = [];
  for (const event of wanted) {
    if (!/^[\w.-]+:[\w.-]+$/.test(event))
      throw new Error(`"${event}" is no event name: events are called noun:verb, such as message:received.`);
    if (events[event]) continue;
    const near = didYouMean(event, names);
    warnings.push(`Nobody emits ${event}.${near ? ` Did you mean ${near}?` : ""}`);
  }
  const paths = await pathsOf(io);
  const root = join(io.options["workspace"] ? paths.workspace : paths.home, "hooks");
  const description = io.options["description"] as string | undefined;
  const dir = writeHook(root, paths.package, {
    name: hook,
    events: wanted.map((event) => ({ name: event, ...(events[event] ? { outline: events[event] } : {}) })),
    ...(description ? { description } : {}),
  });
  const record = await stateOf(io, hook, dir);
  const state = record?.state;
  io.show({ hook, dir, events: wanted, warnings, ...(state ? { state } : {}) }, () => [
    `Wrote ${join(dir, "handler.ts")}${state ? ` (${state})` : ""}.`,
    ...warnings,
    record
      ? `Edit it: a save is live at once. Try it: portico hooks run ${hook}${wanted.length > 1 ? ` --event ${wanted[0]}` : ""}`
      : "It runs as soon as a gateway does: portico start.",
  ]);
}

/** The record of a new hook, once the gateway has seen it; undefined where none runs from this home. */
async function stateOf(io: CommandIO, hook: string, dir: string): Promise<HookRecord | undefined> {
  try {
    await io.gateway.request("POST", "/kernel/hooks/rescan");
    const record = await io.gateway.request<HookRecord>("GET", `/kernel/hooks/${encodeURIComponent(hook)}`);
    return record.dir === dir ? record : undefined;
  } catch {
    return undefined;
  }
}

async function eventsOf(io: CommandIO): Promise<Record<string, EventOutline>> {
  try {
    const { events } = await io.gateway.request<{ events: (EventOutline & { name: string })[] }>(
      "GET",
      "/kernel/events",
    );
    return Object.fromEntries(events.map((event) => [event.name, event]));
  } catch {
    return declaredEvents(io);
  }
}

/** As the definitions on disk declare them: nothing of them is set up. */
async function declaredEvents(io: CommandIO): Promise<Record<string, EventOutline>> {
  const { kernelEvents } = await import("../gateway/events.ts");
  const definitions = await definitionsOf(homePaths(io));
  const tables = definitions.flatMap(({ definition }) => definition?.events ?? []);
  return Object.assign({ ...kernelEvents }, ...tables) as Record<string, EventOutline>;
}

// "--workspace" here is a flag and not the directory that it is elsewhere.
function homePaths(io: CommandIO): Paths {
  const { home, config } = io.options as PathOptions;
  const paths = resolvePaths({ home, config }, io.env);
  return withWorkspace(paths, readConfigFile(paths.config), io.env);
}

/** The home's paths; the gateway that runs from it may have been started with another workspace. */
async function pathsOf(io: CommandIO): Promise<Paths> {
  const paths = homePaths(io);
  try {
    const status = await io.gateway.request<{ home: string; workspace: string }>("GET", "/kernel/status");
    return status.home === paths.home ? { ...paths, workspace: status.workspace } : paths;
  } catch {
    return paths;
  }
}

/** `portico hooks check [NAME|DIR]`. */
export async function checkHooks(io: CommandIO): Promise<CheckOutcome> {
  const wanted = io.args["name"];
  const dir = wanted === undefined ? undefined : directoryOf(wanted, io);
  const checked = dir ? [await checkDirectory(dir, io)] : await checkByName(wanted, io);
  return { ok: checked.every((one) => one.ok), checked };
}

function directoryOf(wanted: string, io: CommandIO): string | undefined {
  const path = resolve(io.cwd, wanted);
  const isPath = wanted.includes("/") || wanted.startsWith(".") || existsSync(join(path, "HOOK.md"));
  if (!isPath) return undefined;
  if (!existsSync(path)) throw new Error(`There is no directory ${wanted}.`);
  return realpathSync(path);
}

async function checkByName(wanted: string | undefined, io: CommandIO): Promise<CheckReport[]> {
  const { findCandidates } = await import("../hooks/on-disk/candidate.ts");
  const { hookRoots } = await import("../hooks/on-disk/roots.ts");
  const { groupByName } = await import("../hooks/in-force/slot.ts");
  const asked = await askGateway(wanted, io);
  if (asked) return asked;
  const groups = groupByName(await findCandidates(hookRoots(await pathsOf(io), [])));
  const claims = [...groups].filter(([name]) => wanted === undefined || name === wanted);
  if (wanted !== undefined && claims.length === 0) {
    throw new Error(`There is no hook ${wanted}. Give its directory, or see portico hooks list.`);
  }
  const chosen = claims.flatMap(
    ([
      ,
      {
        claims: [top],
        doubles,
      },
    ]) => (top ? [top, ...doubles] : doubles),
  );
  return Promise.all(chosen.map((candidate) => check(candidate, io)));
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
  const { findCandidates } = await import("../hooks/on-disk/candidate.ts");
  const root = { name: "directory", dir: dirname(dir), rank: 0 };
  const candidate = (await findCandidates([root])).find((one) => basename(one.dir) === basename(dir));
  if (!candidate) throw new Error(`${dir} is no hook: it has neither HOOK.md nor a handler.`);
  return check(candidate, io);
}

async function check(
  candidate: Parameters<typeof import("../hooks/check.ts").checkCandidate>[0],
  io: CommandIO,
): Promise<CheckReport> {
  const { checkCandidate } = await import("../hooks/check.ts");
  const { createPackageLoader } = await import("../extensions/package-loader.ts");
  process.setSourceMapsEnabled(true);
  const paths = homePaths(io);
  const events = Object.entries(await eventsOf(io)) as unknown as [string, EventSpec][];
  return checkCandidate(candidate, createPackageLoader(paths.package, join(paths.state, "cache")), new Map(events));
}
