/** `portico hooks check`: asks the gateway where one runs, and works without one. */
import { existsSync, realpathSync } from "node:fs";
import { join, resolve } from "node:path";
import type { HookInfo } from "portico";
import type { Command, CommandIO } from "portico/command-line";
import type { HookRecord } from "../hooks/record.ts";
import { checkHook, type HookCheckReport } from "../hooks/check.ts";
import { declaredEvents, workspaceOf } from "./gateway-or-disk.ts";

export const checkHooks: Command = {
  name: "check",
  summary: "Check one hook, or all hooks",
  description:
    "Checks HOOK.md, the events, the permissions of the files, and whether the handler compiles and has the right shape. Exits with status 1 if something is wrong.",
  args: [
    {
      name: "name",
      description: "The name or the directory of the hook (default: all hooks)",
      optional: true,
    },
  ],
  async run(io) {
    const wanted = io.args["name"];
    const dir = wanted === undefined ? undefined : directoryOf(wanted, io);
    const checked = dir ? [await checkDirectory(dir, io)] : await checkByName(wanted, io);
    const ok = checked.every(({ ok }) => ok);
    io.show({ ok, checked }, () => checked.flatMap(linesOf));
    if (!ok) throw new Error(summaryOf(checked.filter(({ ok }) => !ok)));
  },
};

function linesOf(one: HookCheckReport): string[] {
  return [
    `${one.ok ? "ok    " : "wrong "} ${one.name} (${one.events.join(", ") || "no events"})`,
    ...one.problems.map(
      ({ message, file, line }) =>
        `         ${message}${file ? `  [${file}${line ? `:${line}` : ""}]` : ""}`,
    ),
    ...one.warnings.map((warning) => `         note: ${warning}`),
  ];
}

function summaryOf(broken: readonly HookCheckReport[]): string {
  const first = `${broken[0]?.name}: ${broken[0]?.problems[0]?.message ?? ""}`;
  return broken.length === 1 ? first : `${broken.length} hooks have problems; ${first}`;
}

function directoryOf(wanted: string, io: CommandIO): string | undefined {
  const path = resolve(io.cwd, wanted);
  const isPath =
    wanted.includes("/") || wanted.startsWith(".") || existsSync(join(path, "HOOK.md"));
  if (!isPath) return undefined;
  if (!existsSync(path)) throw new Error(`There is no directory ${wanted}.`);
  return realpathSync(path);
}

async function checkByName(wanted: string | undefined, io: CommandIO): Promise<HookCheckReport[]> {
  const reports =
    (await askGateway(wanted, io)) ?? (await onDisk(io, (hooks) => hooks.byName(wanted)));
  if (wanted !== undefined && reports.length === 0)
    throw new Error(`There is no hook ${wanted}. Pass its directory, or see portico hooks list.`);
  return reports;
}

/** The gateway's own findings; undefined where none runs. */
async function askGateway(
  wanted: string | undefined,
  io: CommandIO,
): Promise<HookCheckReport[] | undefined> {
  let names: string[];
  try {
    const { hooks } = await io.gateway.request<{ hooks: HookRecord[] }>("GET", "/kernel/hooks");
    names = [...new Set(hooks.map((hook) => hook.name))];
  } catch {
    return undefined;
  }
  const chosen = wanted === undefined ? names : [wanted];
  return Promise.all(
    chosen.map((name) =>
      io.gateway.request<HookCheckReport>(
        "POST",
        `/kernel/hooks/${encodeURIComponent(name)}/check`,
      ),
    ),
  );
}

async function checkDirectory(dir: string, io: CommandIO): Promise<HookCheckReport> {
  const [report] = await onDisk(io, async (hooks) => [(await hooks.directory(dir)) ?? []].flat());
  if (!report) throw new Error(`${dir} is not a hook: it has neither HOOK.md nor a handler.`);
  return report;
}

type Hooks = Awaited<ReturnType<ReturnType<CommandIO["home"]>["hooks"]>>;

async function onDisk(
  io: CommandIO,
  chosen: (hooks: Hooks) => Promise<HookInfo[]>,
): Promise<HookCheckReport[]> {
  const events = new Map(Object.entries(await declaredEvents(io)));
  const hooks = await chosen(await io.home().hooks(await workspaceOf(io)));
  return Promise.all(hooks.map((hook) => checkHook(hook, events)));
}
