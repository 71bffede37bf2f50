/** The subcommands of every kind of schedule, which use the routes of `mountScheduleRoutes`. */
import { type Command, commandFor, type CommandIO, type OptionSpec } from "portico/command-line";
import { describeEntryRoutes } from "./routes-schema.ts";
import type { GivenSchedule } from "./types.ts";

export interface ScheduleCommandsOptions<V, R, Started> {
  /** The noun for an entry, such as `job`. */
  noun: string;
  /** The root of the routes, such as `/cron/jobs`. */
  root: `/${string}`;
  summaries: Record<"show" | "enable" | "disable" | "run" | "runs", string>;
  /** The options of `edit`. */
  options: Record<string, OptionSpec>;
  /** Returns the members to change. A member that is undefined stays unchanged. */
  changeOf(io: CommandIO): Record<string, unknown> | Promise<Record<string, unknown>>;
  /** Returns the lines that describe an entry. */
  details(view: V): string[];
  /** The columns of the history. `row` returns the cells of one run. */
  columns: readonly string[];
  row(run: R): (string | number | undefined)[];
  /** Returns the line that says what `run` has started. */
  started(result: Started): string;
  /** Returns the reason for which `run` failed; undefined if it succeeded. */
  startFailure?(result: Started): string | undefined;
}

/** Returns the path of the entry that the command line names (`portico … NAME`), followed by `tail`. */
export const schedulePath = (
  io: CommandIO,
  { noun, root }: { noun: string; root: string },
  tail = "",
): string => `${root}/${encodeURIComponent(io.args[noun] ?? "")}${tail}`;

/**
 * Returns the payload of `--message`, `--text` (or `--system-event`) or `--hook`, with the options that belong to it.
 * Without any of these, returns the changed members of the existing payload, for `completeChange`; undefined if there are
 * none.
 */
export function payloadFromOptions({ options }: CommandIO): unknown {
  const { message, hook, model, channel, session, now, announce } = options;
  const text = options["text"] ?? options["system-event"];
  if ([message, text, hook].filter((value) => value !== undefined).length > 1)
    throw new Error("Pass only one of --message, --text and --hook.");
  const mode = choose(now, "now", "next-heartbeat");
  const delivery = choose(announce, "announce", "none");
  const turn = { message, model, channel, session, delivery };
  if (text !== undefined) return { kind: "systemEvent", text, mode };
  if (hook !== undefined) return { kind: "hook", event: hook };
  if (message !== undefined) return { kind: "agentTurn", ...turn };
  const parts = { ...turn, mode };
  return Object.values(parts).every((part) => part === undefined) ? undefined : parts;
}

/** Returns the value that a flag selects; undefined if the flag is not set. */
function choose(flag: unknown, yes: string, no: string): string | undefined {
  if (flag === undefined) return undefined;
  return flag ? yes : no;
}

/**
 * Parses the text of a schedule, in the given zone. Intervals stay text; `completeChange` can complete the other kinds.
 */
export function scheduleFromText(text: string, tz?: string): GivenSchedule {
  const trimmed = text.trim();
  if (/^every\s/i.test(trimmed)) return trimmed;
  if (/^(in\s|\d{4}-\d\d-\d\d)/i.test(trimmed)) return { kind: "at", at: trimmed, tz };
  return { kind: "cron", expr: trimmed, tz };
}

/**
 * Completes the `schedule` and `payload` of a change: members that they leave out (or have as `undefined`) come from the
 * changed entry, `before`, if the kind stays the same. A part without a `kind` keeps the existing kind.
 */
export function completeChange<C extends object>(change: C, before: object): C {
  const changes = change as Record<string, unknown>;
  const parts = ["schedule", "payload"]
    // A part that does not change must be absent, because it would replace the existing one.
    .filter((key) => changes[key] !== undefined)
    .map((key) => [key, completePart(changes[key], (before as Record<string, unknown>)[key])]);
  return { ...change, ...Object.fromEntries(parts) };
}

function completePart(part: unknown, before: unknown): unknown {
  if (typeof part !== "object" || part === null) return part;
  const newMembers = Object.fromEntries(
    Object.entries(part).filter(([, value]) => value !== undefined),
  );
  const { kind } = (before ?? {}) as { kind?: unknown };
  return newMembers["kind"] === undefined || newMembers["kind"] === kind
    ? { ...(before as object), ...newMembers }
    : newMembers;
}

type ScheduleCommand = "show" | "edit" | "enable" | "disable" | "run" | "runs" | "rm";

/** Returns the commands of one kind of schedule by name, so that its plugin can choose their order in the help. */
export function scheduleCommands<V extends { name: string }, R, Started>(
  options: ScheduleCommandsOptions<V, R, Started>,
): Record<ScheduleCommand, Command> {
  const { noun, root, summaries, details } = options;
  const routes = describeEntryRoutes(noun);
  const args = [{ name: noun, description: `The id or the name of the ${noun}` }];
  return {
    show: commandFor<V>(`GET ${root}/:id`, routes.show, {
      name: "show",
      summary: summaries.show,
      args,
      view: details,
    }),
    edit: editCommand(options),
    enable: commandFor<V>(`POST ${root}/:id/enable`, routes.enable, {
      name: "enable",
      summary: summaries.enable,
      args,
      view: details,
    }),
    disable: commandFor<V>(`POST ${root}/:id/disable`, routes.disable, {
      name: "disable",
      summary: summaries.disable,
      args,
      view: ({ name }) => `${name} is disabled.`,
    }),
    run: commandFor<Started>(`POST ${root}/:id/run`, routes.run, {
      name: "run",
      summary: summaries.run,
      args,
      view: options.started,
      failure: options.startFailure,
    }),
    runs: commandFor<{ runs: R[] }>(`GET ${root}/:id/runs`, routes.runs, {
      name: "runs",
      summary: summaries.runs,
      args,
      options: {
        limit: { description: "The maximum number of runs to show, newest first (default: 20)" },
      },
      view: ({ runs }, io) => io.table(options.columns, runs.map(options.row)),
    }),
    rm: commandFor<{ name: string }>(`DELETE ${root}/:id`, routes.remove, {
      name: "rm",
      summary: `Remove a ${noun} and its history`,
      args,
      view: ({ name }) => `${name} is removed.`,
    }),
  };
}

/**
 * Does not derive the command from its route alone, because members that the options leave out come from the existing
 * entry.
 */
function editCommand<V extends { name: string }>(
  options: ScheduleCommandsOptions<V, never, never>,
): Command {
  const { noun, details } = options;
  return {
    name: "edit",
    summary: `Change a ${noun}; settings that you do not pass stay the same`,
    args: [{ name: noun, description: `The id or the name of the ${noun}` }],
    options: options.options,
    async run(io) {
      const path = schedulePath(io, options);
      const change = await options.changeOf(io);
      if (Object.values(change).every((value) => value === undefined))
        throw new Error("There is nothing to change. Pass at least one option.");
      const hasParts = change["schedule"] !== undefined || change["payload"] !== undefined;
      const body = hasParts
        ? completeChange(change, await io.gateway.request<object>("GET", path))
        : change;
      io.show(await io.gateway.request<V>("PATCH", path, body), details);
    },
  };
}
