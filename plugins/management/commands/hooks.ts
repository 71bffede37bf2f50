/** `portico hooks`. `new`, `check`, `events` and `rm` work without a running gateway; all others need one. */
import { checkHooks } from "./hooks-check.ts";
import { removeCommand } from "./extension-rm.ts";
import { hookEvents } from "./hooks-events.ts";
import { newHook } from "./hooks-new.ts";
import type { HookLogLine } from "portico";
import { commandFor, type CommandIO, defineCommand } from "portico/command-line";
import type { HookRecord } from "../hooks/record.ts";
import type { HookRunReport } from "../hooks/run.ts";
import { hookRoutes } from "../routes/routes-schema.ts";

const name = { name: "name", description: "The name of the hook in `portico hooks list`" };

const list = commandFor<{ hooks: HookRecord[] }>("GET /kernel/hooks", hookRoutes.list, {
  name: "list",
  summary: "List all hooks with their state",
  view: ({ hooks }, io) => formatList(io, hooks),
});

const info = commandFor<HookRecord>("GET /kernel/hooks/:name", hookRoutes.show, {
  name: "info",
  summary: "Show a hook: its loaded version, its last run, its last error",
  args: [name],
  view: describe,
});

const enable = commandFor<HookRecord>("POST /kernel/hooks/:name/enable", hookRoutes.enable, {
  name: "enable",
  summary: "Enable a hook, even if it was stopped after failures",
  args: [name],
  view: stateLine,
  failure: whyNotRunning,
});

const disable = commandFor<HookRecord>("POST /kernel/hooks/:name/disable", hookRoutes.disable, {
  name: "disable",
  summary: "Disable a hook",
  args: [name],
  // the reason would only repeat that the hook is disabled
  view: (record) => stateLine({ ...record, reason: undefined }),
  failure: whyNotRunning,
});

const reload = commandFor<HookRecord>("POST /kernel/hooks/:name/reload", hookRoutes.reload, {
  name: "reload",
  summary: "Reload a hook",
  args: [name],
  view: stateLine,
  failure: whyNotRunning,
});

const approve = commandFor<HookRecord>("POST /kernel/hooks/:name/approve", hookRoutes.approve, {
  name: "approve",
  summary: "Approve the current content of a workspace hook, so that it can run",
  description:
    'An approval is necessary if hooks.trust is "approved". After any change to its files, a hook needs a new approval.',
  args: [name],
  view: (record) => [
    stateLine(record),
    ...record.outsideInputs.map((path) => `  also runs ${path}`),
  ],
  failure: whyNotRunning,
});

const run = commandFor<HookRunReport>("POST /kernel/hooks/:name/run", hookRoutes.run, {
  name: "run",
  summary: "Run a hook against a sample event",
  description:
    "Shows the effects that the hook requests, without applying them. The hook's code runs for real: it really writes files and calls `ctx`.",
  args: [name],
  options: {
    event: {
      value: "E",
      description: "The event to run; optional if the hook handles only one event",
    },
    context: {
      type: "string",
      value: "JSON",
      description: "Fields that replace fields of the event's sample",
      read: parseContext,
    },
    session: { member: "sessionKey", value: "S", description: "The sessionKey of the event" },
  },
  examples: [`portico hooks run hello --context '{"content":"Hi"}'`],
  view: formatRun,
  failure: ({ ok, hook, event, error }) =>
    ok ? undefined : `${hook} failed on ${event}: ${error}`,
});

const logs = commandFor<{ lines: HookLogLine[] }>("GET /kernel/hooks/:name/logs", hookRoutes.logs, {
  name: "logs",
  summary: "Show the last log lines of a hook",
  args: [name],
  options: {
    lines: { description: "The number of lines, at most 200 (default: 50)", fallback: 50 },
  },
  view: ({ lines }) => lines.map(logLine),
});

export default defineCommand({
  name: "hooks",
  summary: "List, inspect, create, test, enable and disable hooks",
  description:
    "A hook is a directory with HOOK.md and handler.ts. A saved change is active at once, without a restart.",
  examples: ["portico hooks new hello --event EVENT", "portico hooks info hello"],
  commands: [
    list,
    info,
    checkHooks,
    newHook,
    hookEvents,
    removeCommand("hooks"),
    enable,
    disable,
    reload,
    approve,
    run,
    logs,
  ],
});

function stateLine({
  name,
  state,
  error,
  reason,
}: Pick<HookRecord, "name" | "state" | "error" | "reason">): string {
  const cause = error ?? reason;
  return `${name}: ${state}${cause ? `: ${cause}` : ""}`;
}

function whyNotRunning({ name, state, error }: HookRecord): string | undefined {
  const isRunnable = state !== "failed" && state !== "refused";
  return isRunnable ? undefined : `${name} does not run: ${error}`;
}

function formatList(io: CommandIO, all: readonly HookRecord[]): string[] {
  return io.table(
    ["NAME", "STATE", "ROOT", "EVENTS", "RUNS", "FAILED", ""],
    all.map((hook) => [
      hook.name,
      hook.state,
      hook.root,
      hook.events.map(eventText).join(" "),
      hook.runs,
      hook.failures,
      hook.error ??
        hook.reason ??
        (hook.shadowedBy ? `replaced by the hook in ${hook.shadowedBy.dir}` : hook.description),
    ]),
  );
}

function eventText({ name: event, known, didYouMean }: HookRecord["events"][number]): string {
  if (known) return event;
  return `${event} (no plugin emits it${didYouMean ? `; did you mean ${didYouMean}?` : ""})`;
}

function describe(hook: HookRecord): string[] {
  const { loaded, lastRun, lastError } = hook;
  const rows: [string, string | number | undefined][] = [
    ["State", hook.state],
    ["Error", hook.error],
    ["Reason", hook.reason],
    ["At", hook.file && `${hook.file}${hook.line ? `:${hook.line}` : ""}`],
    ["About", hook.description],
    ["Directory", `${hook.dir} (${hook.root})`],
    ...hook.outsideInputs.map((path): [string, string] => ["Also runs", path]),
    ["Replaces", hook.shadows?.dir],
    ["Replaced by", hook.shadowedBy?.dir],
    ["Events", hook.events.map(eventText).join(", ")],
    ["Priority", hook.priority],
    ["Deadline", `${hook.timeoutMs} ms`],
    [
      "Fails",
      hook.failClosed
        ? "failClosed: while the hook does not work, its events are refused"
        : undefined,
    ],
    [
      "Version",
      loaded &&
        `generation ${loaded.generation}, ${loaded.hash}, loaded ${loaded.loadedAt} in ${loaded.loadMs} ms`,
    ],
    ["From", loaded && loaded.dir !== hook.dir ? loaded.dir : undefined],
    [
      "Runs",
      `${hook.runs}, of which ${hook.failures} failed; failures in a row: ${hook.failuresInARow}`,
    ],
    [
      "Last run",
      lastRun &&
        `${lastRun.at} ${lastRun.event} in ${lastRun.ms} ms${lastRun.ok ? "" : ": failed"}`,
    ],
    ["Last error", lastError && `${lastError.at} ${lastError.message}`],
    ["", lastError?.file && `at ${lastError.file}${lastError.line ? `:${lastError.line}` : ""}`],
    ...hook.ignored.map(({ event, message, count }): [string, string] => [
      "Ignored",
      `${count === 1 ? "once" : `${count} times`} on ${event}: ${message}`,
    ]),
    ...hook.warnings.map((warning): [string, string] => ["Note", warning]),
  ];
  return [
    `${hook.emoji ? `${hook.emoji} ` : ""}${hook.name}`,
    ...rows
      .filter(([, value]) => value !== undefined && value !== "")
      .map(([label, value]) => `  ${label.padEnd(12)} ${value}`),
  ];
}

function parseContext(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value))
      return value as Record<string, unknown>;
  } catch {
    // reported below
  }
  throw new Error(`--context must be a JSON object, such as '{"content":"Hi"}'.`);
}

function formatRun({ event, ok, ms, error, file, line, effects, logs }: HookRunReport): string[] {
  const effectTexts = effectLines(effects);
  const place = file ? `  [${file}${line ? `:${line}` : ""}]` : "";
  return [
    `${event}: ${ok ? "ok" : "failed"} in ${ms} ms`,
    ...(error ? [`  ${error}${place}`] : []),
    ...(ok && effectTexts.length === 0 ? ["  no effects"] : effectTexts.map((text) => `  ${text}`)),
    ...logs.map((entry) => `  | ${logLine(entry)}`),
  ];
}

function effectLines(effects: HookRunReport["effects"]): string[] {
  if (!effects) return [];
  const { changed = {}, result, messages = [], ignored = [] } = effects;
  return [
    ...Object.entries(changed).map(
      ([field, value]) => `changes ${field} to ${JSON.stringify(value)}`,
    ),
    ...(result ? [resultLine(result)] : []),
    ...messages.map((message) => `sends ${JSON.stringify(message)}`),
    ...ignored.map((text) => `note: ${text}`),
  ];
}

type HookResult = NonNullable<NonNullable<HookRunReport["effects"]>["result"]>;

function resultLine(result: HookResult): string {
  return "reply" in result ? `answers ${JSON.stringify(result.reply)}` : `blocks: ${result.block}`;
}

function logLine({ at, level, message, fields }: HookLogLine): string {
  return `${at} ${level.padEnd(5)} ${message}${fields ? ` ${JSON.stringify(fields)}` : ""}`;
}
