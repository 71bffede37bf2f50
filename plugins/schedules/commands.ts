/** The subcommands that schedules of every kind have, over the routes of `mountScheduleRoutes`. */
import { type Command, commandFor, type CommandIO, type OptionSpec } from "portico/command-line";
import { describeEntryRoutes } from "./routes-schema.ts";
import type { GivenSchedule } from "./types.ts";

export interface ScheduleCommandsOptions<V, R, Started> {
  /** What one of them is called: `job`. */
  noun: string;
  /** As of their routes: `/cron/jobs`. */
  root: `/${string}`;
  summaries: Record<"show" | "enable" | "disable" | "run" | "runs", string>;
  /** Those of `edit`. */
  options: Record<string, OptionSpec>;
  /** What to change; an `undefined` is not given. */
  changeOf(io: CommandIO): Record<string, unknown> | Promise<Record<string, unknown>>;
  /** The lines of one of them. */
  details(view: V): string[];
  /** The columns of the history, and what one run shows in them. */
  columns: readonly string[];
  row(run: R): (string | number | undefined)[];
  /** The line that says what `run` has started. */
  started(result: Started): string;
  /** Why `run` failed; `undefined` if it did not. */
  startFailure?(result: Started): string | undefined;
}

/** `portico … NAME`: the path of the one that is named on the command line, with `tail` after it. */
export const schedulePath = (
  io: CommandIO,
  { noun, root }: { noun: string; root: string },
  tail = "",
): string => `${root}/${encodeURIComponent(io.args[noun] ?? "")}${tail}`;

/**
 * The payload of `--message`, `--text` (or `--system-event`) or `--hook`, with the options that belong to it. Without one of
 * them: what changes of the payload that is there, for `completed`; undefined where nothing does.
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

/** The value of a flag; `undefined` if it is not set. */
function choose(flag: unknown, yes: string, no: string): string | undefined {
  if (flag === undefined) return undefined;
  return flag ? yes : no;
}

/** A schedule that is given as a text, in the zone that is given beside it; what `completed` can fill but for intervals. */
export function scheduleFromText(text: string, tz?: string): GivenSchedule {
  const trimmed = text.trim();
  if (/^every\s/i.test(trimmed)) return trimmed;
  if (/^(in\s|\d{4}-\d\d-\d\d)/i.test(trimmed)) return { kind: "at", at: trimmed, tz };
  return { kind: "cron", expr: trimmed, tz };
}

/**
 * A change whose `schedule` and `payload` hold what is new of them: what they leave out (or have as `undefined`) comes from
 * `before`, the one that is changed, where the kind stays the same. A part without a `kind` is of the kind that is there.
 */
export function completeChange<C extends object>(change: C, before: object): C {
  const changes = change as Record<string, unknown>;
  const parts = ["schedule", "payload"]
    // one that is not named must not be there at all: it would take the place of what is
    .filter((key) => changes[key] !== undefined)
    .map((key) => [key, completedPart(changes[key], (before as Record<string, unknown>)[key])]);
  return { ...change, ...Object.fromEntries(parts) };
}

function completedPart(part: unknown, before: unknown): unknown {
  if (typeof part !== "object" || part === null) return part;
  const fresh = Object.fromEntries(Object.entries(part).filter(([, value]) => value !== undefined));
  const { kind } = (before ?? {}) as { kind?: unknown };
  return fresh["kind"] === undefined || fresh["kind"] === kind
    ? { ...(before as object), ...fresh }
    : fresh;
}

type ScheduleCommand = "show" | "edit" | "enable" | "disable" | "run" | "runs" | "rm";

/** The commands of one kind of schedule, for its plugin to list in the order that suits its help. */
export function scheduleCommands<V extends { name: string }, R, Started>(
  options: ScheduleCommandsOptions<V, R, Started>,
): Record<ScheduleCommand, Command> {
  const { noun, root, summaries, details } = options;
  const routes = describeEntryRoutes(noun);
  const args = [{ name: noun, description: "The id or the name" }];
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
      options: { limit: { description: "The number of runs, newest first (default: 20)" } },
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

/** Not made of its route alone: parts of the schedule that an option leaves out come from the schedule that is there. */
function editCommand<V extends { name: string }>(
  options: ScheduleCommandsOptions<V, never, never>,
): Command {
  const { noun, details } = options;
  return {
    name: "edit",
    summary: `Change a ${noun}; settings that you do not pass stay unchanged`,
    args: [{ name: noun, description: "The id or the name" }],
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
