/** `portico hooks check`: asks the gateway if one is running, else checks the hooks on disk. */
import { existsSync, realpathSync } from "node:fs";
import { join, resolve } from "node:path";
import type { HookInfo } from "portico";
import type { Command, CommandIO } from "portico/command-line";
import type { HookRecord } from "../hooks/record.ts";
import { checkHook, type HookCheckReport } from "../hooks/check.ts";
import { declaredEvents, findWorkspace } from "./gateway-or-disk.ts";

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
    const nameOrDir = io.args["name"];
    const dir = nameOrDir === undefined ? undefined : directoryOf(nameOrDir, io);
    const checked = dir ? [await checkDirectory(dir, io)] : await checkByName(nameOrDir, io);
    const ok = checked.every(({ ok }) => ok);
    io.show({ ok, checked }, () => checked.flatMap(formatReport));
    if (!ok) throw new Error(summarize(checked.filter(({ ok }) => !ok)));
  },
};

function formatReport(report: HookCheckReport): string[] {
  return [
    `${report.ok ? "ok    " : "wrong "} ${report.name} (${report.events.join(", ") || "no events"})`,
    ...report.problems.map(
      ({ message, file, line }) =>
        `         ${message}${file ? `  [${file}${line ? `:${line}` : ""}]` : ""}`,
    ),
    ...report.warnings.map((warning) => `         note: ${warning}`),
  ];
}

function summarize(broken: readonly HookCheckReport[]): string {
  const first = `${broken[0]?.name}: ${broken[0]?.problems[0]?.message ?? ""}`;
  return broken.length === 1 ? first : `${broken.length} hooks have problems; ${first}`;
}

function directoryOf(nameOrDir: string, io: CommandIO): string | undefined {
  const path = resolve(io.cwd, nameOrDir);
  const isPath =
    nameOrDir.includes("/") || nameOrDir.startsWith(".") || existsSync(join(path, "HOOK.md"));
  if (!isPath) return undefined;
  if (!existsSync(path)) throw new Error(`There is no directory ${nameOrDir}.`);
  return realpathSync(path);
}

async function checkByName(
  hookName: string | undefined,
  io: CommandIO,
): Promise<HookCheckReport[]> {
  const reports =
    (await askGateway(hookName, io)) ?? (await checkOnDisk(io, (hooks) => hooks.byName(hookName)));
  if (hookName !== undefined && reports.length === 0)
    throw new Error(`There is no hook ${hookName}. Pass its directory, or see portico hooks list.`);
  return reports;
}

/** Returns the gateway's reports, or undefined if none is running. */
async function askGateway(
  hookName: string | undefined,
  io: CommandIO,
): Promise<HookCheckReport[] | undefined> {
  let names: string[];
  try {
    const { hooks } = await io.gateway.request<{ hooks: HookRecord[] }>("GET", "/kernel/hooks");
    names = [...new Set(hooks.map((hook) => hook.name))];
  } catch {
    return undefined;
  }
  const selectedNames = hookName === undefined ? names : [hookName];
  return Promise.all(
    selectedNames.map((name) =>
      io.gateway.request<HookCheckReport>(
        "POST",
        `/kernel/hooks/${encodeURIComponent(name)}/check`,
      ),
    ),
  );
}

async function checkDirectory(dir: string, io: CommandIO): Promise<HookCheckReport> {
  const [report] = await checkOnDisk(io, async (hooks) =>
    [(await hooks.directory(dir)) ?? []].flat(),
  );
  if (!report) throw new Error(`${dir} is not a hook: it has neither HOOK.md nor a handler.`);
  return report;
}

type Hooks = Awaited<ReturnType<ReturnType<CommandIO["home"]>["hooks"]>>;

async function checkOnDisk(
  io: CommandIO,
  select: (hooks: Hooks) => Promise<HookInfo[]>,
): Promise<HookCheckReport[]> {
  const events = new Map(Object.entries(await declaredEvents(io)));
  const hooks = await select(await io.home().hooks(await findWorkspace(io)));
  return Promise.all(hooks.map((hook) => checkHook(hook, events)));
}
