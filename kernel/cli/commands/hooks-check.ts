/** `portico hooks check`: asks the gateway where one runs, and works without one. */
import { existsSync, realpathSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import type { CheckReport } from "../../hooks/check.ts";
import type { HookRecord } from "../../hooks/record.ts";
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
  const { findCandidates } = await import("../../hooks/on-disk/candidate.ts");
  const { hookRoots } = await import("../../hooks/on-disk/roots.ts");
  const { groupByName } = await import("../../hooks/in-force/slot.ts");
  const asked = await askGateway(wanted, io);
  if (asked) return asked;
  const groups = groupByName(await findCandidates(hookRoots(await hookHome(io), [])));
  const chosen = [...groups].filter(([name]) => wanted === undefined || name === wanted);
  if (wanted !== undefined && chosen.length === 0)
    throw new Error(`There is no hook ${wanted}. Give its directory, or see portico hooks list.`);
  const candidates = chosen.flatMap(([, { claims, doubles }]) => [...claims.slice(0, 1), ...doubles]);
  return Promise.all(candidates.map((candidate) => check(candidate, io)));
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
  const { findCandidates } = await import("../../hooks/on-disk/candidate.ts");
  const root = { name: "directory", dir: dirname(dir), rank: 0 };
  const candidate = (await findCandidates([root])).find((one) => basename(one.dir) === basename(dir));
  if (!candidate) throw new Error(`${dir} is no hook: it has neither HOOK.md nor a handler.`);
  return check(candidate, io);
}

async function check(
  candidate: Parameters<typeof import("../../hooks/check.ts").checkCandidate>[0],
  io: CommandIO,
): Promise<CheckReport> {
  const { checkCandidate } = await import("../../hooks/check.ts");
  const { createPackageLoader } = await import("../../extensions/package-loader.ts");
  process.setSourceMapsEnabled(true);
  const paths = await hookHome(io);
  const events = Object.entries(await declaredEvents(io)) as unknown as [string, EventSpec][];
  return checkCandidate(candidate, createPackageLoader(paths.package, join(paths.state, "cache")), new Map(events));
}
