/** `portico hooks`: most of it asks the running gateway; `new` and `check` work without one. */
import { checkHooks } from "./hooks-check.ts";
import { removeCommand } from "./extension-rm.ts";
import { hookEvents } from "./hooks-events.ts";
import { newHook } from "./hooks-new.ts";
import type { HookLogLine } from "portico";
import type { Command, CommandIO } from "portico/command-line";
import type { HookRecord } from "../hooks/record.ts";
import type { HookRunReport } from "../hooks/run.ts";

const name = { name: "name", description: "The hook's name, as in `portico hooks list`" };

const hooks: Command = {
  name: "hooks",
  summary: "List, inspect, make, try and switch hooks",
  description:
    "A hook is a directory with HOOK.md and handler.ts. A save is live at once, without a restart.",
  examples: ["portico hooks new hello --event EVENT", "portico hooks info hello"],
  commands: [
    {
      name: "list",
      summary: "All hooks with their state",
      run: async (io) =>
        io.show(
          await io.gateway.request<{ hooks: HookRecord[] }>("GET", "/kernel/hooks"),
          ({ hooks: all }) => listed(io, all),
        ),
    },
    {
      name: "info",
      summary: "One hook: its loaded version, its last run, its last error",
      args: [name],
      run: async (io) =>
        io.show(await io.gateway.request<HookRecord>("GET", pathOf(io)), described),
    },
    checkHooks,
    newHook,
    hookEvents,
    removeCommand("hooks"),
    action("enable", "Switch a hook on, or wake one that rests"),
    action("disable", "Switch a hook off"),
    action("reload", "Load a hook anew"),
    action(
      "approve",
      "Let a workspace hook run in the content that it has now",
      'Needed where hooks.trust is "approved". Any change of its files asks again.',
    ),
    {
      name: "run",
      summary: "Run a hook against a sample event",
      description:
        "Shows what the hook would do; the gateway does none of it. Files and everything on ctx are the real ones.",
      args: [name],
      options: {
        event: {
          type: "string",
          value: "E",
          description: "Which of its events; may be left out where it has one",
        },
        context: { type: "string", value: "JSON", description: "Laid over the event's sample" },
        session: { type: "string", value: "S", description: "The event's sessionKey" },
      },
      examples: [`portico hooks run hello --context '{"content":"Hi"}'`],
      run: runHook,
    },
    {
      name: "logs",
      summary: "The last lines of a hook",
      args: [name],
      options: {
        lines: { type: "number", value: "N", description: "How many (default 50, at most 200)" },
      },
      run: async (io) => {
        const query = { lines: Number(io.options["lines"] ?? 50) };
        const answer = await io.gateway.request<{ lines: HookLogLine[] }>(
          "GET",
          pathOf(io, "/logs"),
          undefined,
          {
            query,
          },
        );
        io.show(answer, ({ lines }) => lines.map(logLine));
      },
    },
  ],
};
export default hooks;

function action(word: string, summary: string, description?: string): Command {
  const run = async (io: CommandIO) => {
    const record = await io.gateway.request<HookRecord>("POST", pathOf(io, `/${word}`));
    const why = record.error ?? (word === "disable" ? undefined : record.reason);
    io.show(record, (one) => [
      `${one.name}: ${one.state}${why ? `: ${why}` : ""}`,
      ...(word === "approve" ? one.outsideInputs.map((path) => `  also runs ${path}`) : []),
    ]);
    if (record.state === "failed" || record.state === "refused")
      throw new Error(`${record.name} does not run: ${record.error}`);
  };
  return { name: word, summary, description, args: [name], run };
}

function pathOf(io: CommandIO, tail = ""): string {
  return `/kernel/hooks/${encodeURIComponent(io.args["name"] ?? "")}${tail}`;
}

function listed(io: CommandIO, all: readonly HookRecord[]): string[] {
  return io.table(
    ["NAME", "STATE", "ROOT", "EVENTS", "RUNS", "FAILED", ""],
    all.map((one) => [
      one.name,
      one.state,
      one.root,
      one.events.map(eventText).join(" "),
      one.runs,
      one.failures,
      one.error ??
        one.reason ??
        (one.shadowedBy ? `replaced by the one in ${one.shadowedBy.dir}` : one.description),
    ]),
  );
}

function eventText({ name: event, known, didYouMean }: HookRecord["events"][number]): string {
  if (known) return event;
  return `${event} (nobody emits it${didYouMean ? `; did you mean ${didYouMean}?` : ""})`;
}

function described(one: HookRecord): string[] {
  const { loaded, lastRun, lastError } = one;
  const rows: [string, string | number | undefined][] = [
    ["State", one.state],
    ["Error", one.error],
    ["Reason", one.reason],
    ["At", one.file && `${one.file}${one.line ? `:${one.line}` : ""}`],
    ["About", one.description],
    ["Directory", `${one.dir} (${one.root})`],
    ...one.outsideInputs.map((path): [string, string] => ["Also runs", path]),
    ["Replaces", one.shadows?.dir],
    ["Replaced by", one.shadowedBy?.dir],
    ["Events", one.events.map(eventText).join(", ")],
    ["Priority", one.priority],
    ["Deadline", `${one.timeoutMs} ms`],
    [
      "Fails",
      one.failClosed ? "closed: while it does not work, its events are refused" : undefined,
    ],
    [
      "Version",
      loaded &&
        `generation ${loaded.generation}, ${loaded.hash}, loaded ${loaded.loadedAt} in ${loaded.loadMs} ms`,
    ],
    ["From", loaded && loaded.dir !== one.dir ? loaded.dir : undefined],
    ["Runs", `${one.runs}, ${one.failures} failed, ${one.failuresInARow} of them in a row`],
    [
      "Last run",
      lastRun &&
        `${lastRun.at} ${lastRun.event} in ${lastRun.ms} ms${lastRun.ok ? "" : ": failed"}`,
    ],
    ["Last error", lastError && `${lastError.at} ${lastError.message}`],
    ["", lastError?.file && `at ${lastError.file}${lastError.line ? `:${lastError.line}` : ""}`],
    ...one.ignored.map(({ event, message, count }): [string, string] => [
      "Ignored",
      `${count === 1 ? "once" : `${count} times`} on ${event}: ${message}`,
    ]),
    ...one.warnings.map((warning): [string, string] => ["Note", warning]),
  ];
  return [
    `${one.emoji ? `${one.emoji} ` : ""}${one.name}`,
    ...rows
      .filter(([, value]) => value !== undefined && value !== "")
      .map(([label, value]) => `  ${label.padEnd(12)} ${value}`),
  ];
}

async function runHook(io: CommandIO): Promise<void> {
  const { event, context, session } = io.options;
  const body = { event, context: context && parseContext(String(context)), sessionKey: session };
  const result = await io.gateway.request<HookRunReport>("POST", pathOf(io, "/run"), body);
  io.show(result, ranLines);
  if (!result.ok) throw new Error(`${result.hook} failed on ${result.event}: ${result.error}`);
}

function parseContext(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value))
      return value as Record<string, unknown>;
  } catch {
    // said below
  }
  throw new Error(`--context must be a JSON object, such as '{"content":"Hi"}'.`);
}

function ranLines({ event, ok, ms, error, file, line, effects, logs }: HookRunReport): string[] {
  const done: string[] = [];
  for (const [field, value] of Object.entries(effects?.changed ?? {}))
    done.push(`changes ${field} to ${JSON.stringify(value)}`);
  if (effects?.result) {
    done.push(
      "reply" in effects.result
        ? `answers ${JSON.stringify(effects.result.reply)}`
        : `blocks: ${effects.result.block}`,
    );
  }
  for (const message of effects?.messages ?? []) done.push(`says ${JSON.stringify(message)}`);
  for (const ignored of effects?.ignored ?? []) done.push(`note: ${ignored}`);
  return [
    `${event}: ${ok ? "ok" : "failed"} in ${ms} ms`,
    ...(error ? [`  ${error}${file ? `  [${file}${line ? `:${line}` : ""}]` : ""}`] : []),
    ...(ok && done.length === 0
      ? ["  changes nothing and says nothing"]
      : done.map((text) => `  ${text}`)),
    ...logs.map((logged) => `  | ${logLine(logged)}`),
  ];
}

function logLine({ at, level, message, fields }: HookLogLine): string {
  return `${at} ${level.padEnd(5)} ${message}${fields ? ` ${JSON.stringify(fields)}` : ""}`;
}
