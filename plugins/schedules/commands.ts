/** The subcommands that schedules of every kind have, over the routes of `mountScheduleRoutes`. */
import type { Command, CommandIO, OptionSpec } from "portico/command-line";
import type { GivenSchedule } from "./types.ts";

export interface ScheduleCommandsOptions<V, R> {
  /** What one of them is called: `job`. */
  noun: string;
  /** As of their routes: `/cron/jobs`. */
  root: string;
  summaries: Record<"show" | "enable" | "disable" | "runs", string>;
  /** Those of `edit`. */
  options: Record<string, OptionSpec>;
  /** What to change; an `undefined` is not given. */
  changeOf(io: CommandIO): Record<string, unknown> | Promise<Record<string, unknown>>;
  /** The lines of one of them. */
  details(view: V): string[];
  /** The columns of the history, and what one run shows in them. */
  columns: readonly string[];
  row(run: R): (string | number | undefined)[];
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
export function payloadFromOptions({ options: given }: CommandIO): unknown {
  const { message, hook, model, channel, session, now, announce } = given;
  const text = given["text"] ?? given["system-event"];
  if ([message, text, hook].filter((value) => value !== undefined).length > 1)
    throw new Error("Give only one of --message, --text and --hook.");
  const mode = now === undefined ? undefined : now ? "now" : "next-heartbeat";
  const delivery = announce === undefined ? undefined : announce ? "announce" : "none";
  const turn = { message, model, channel, session, delivery };
  if (text !== undefined) return { kind: "systemEvent", text, mode };
  if (hook !== undefined) return { kind: "hook", event: hook };
  if (message !== undefined) return { kind: "agentTurn", ...turn };
  const parts = { ...turn, mode };
  return Object.values(parts).every((part) => part === undefined) ? undefined : parts;
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
export function completed<C extends object>(change: C, before: object): C {
  const given = change as Record<string, unknown>;
  const parts = ["schedule", "payload"]
    // one that is not named must not be there at all: it would take the place of what is
    .filter((key) => given[key] !== undefined)
    .map((key) => [key, completedPart(given[key], (before as Record<string, unknown>)[key])]);
  return { ...change, ...Object.fromEntries(parts) };
}

function completedPart(given: unknown, before: unknown): unknown {
  if (typeof given !== "object" || given === null) return given;
  const fresh = Object.fromEntries(
    Object.entries(given).filter(([, value]) => value !== undefined),
  );
  const { kind } = (before ?? {}) as { kind?: unknown };
  return fresh["kind"] === undefined || fresh["kind"] === kind
    ? { ...(before as object), ...fresh }
    : fresh;
}

/** `show`, `edit`, `enable`, `disable`, `runs` and `rm`, each to be put where help is to list it. */
export function scheduleCommands<V extends { name: string }, R>(
  options: ScheduleCommandsOptions<V, R>,
): Record<"show" | "edit" | "enable" | "disable" | "runs" | "rm", Command> {
  const { noun, summaries, details } = options;
  const args = [{ name: noun, description: "Its id, or its name" }];
  const at = (io: CommandIO, tail?: string): string => schedulePath(io, options, tail);
  return {
    show: {
      name: "show",
      summary: summaries.show,
      args,
      run: async (io) => io.show(await io.gateway.request<V>("GET", at(io)), details),
    },
    edit: {
      name: "edit",
      summary: `Change a ${noun}; what is not given stays`,
      args,
      options: options.options,
      run: async (io) => {
        const given = await options.changeOf(io);
        if (Object.values(given).every((value) => value === undefined))
          throw new Error("Nothing to change: give an option.");
        const hasParts = given["schedule"] !== undefined || given["payload"] !== undefined;
        const body = hasParts
          ? completed(given, await io.gateway.request<object>("GET", at(io)))
          : given;
        io.show(await io.gateway.request<V>("PATCH", at(io), body), details);
      },
    },
    enable: {
      name: "enable",
      summary: summaries.enable,
      args,
      run: async (io) => io.show(await io.gateway.request<V>("POST", at(io, "/enable")), details),
    },
    disable: {
      name: "disable",
      summary: summaries.disable,
      args,
      run: async (io) =>
        io.show(
          await io.gateway.request<V>("POST", at(io, "/disable")),
          ({ name }) => `${name} is disabled.`,
        ),
    },
    runs: {
      name: "runs",
      summary: summaries.runs,
      args,
      options: {
        limit: { type: "number", value: "N", description: "How many, newest first; default 20" },
      },
      run: async (io) =>
        io.show(
          await io.gateway.request<{ runs: R[] }>("GET", at(io, "/runs"), undefined, {
            query: { limit: io.options["limit"] as number | undefined },
          }),
          ({ runs }) => io.table(options.columns, runs.map(options.row)),
        ),
    },
    rm: {
      name: "rm",
      summary: `Remove a ${noun} and its history`,
      args,
      run: async (io) =>
        io.show(
          await io.gateway.request<{ name: string }>("DELETE", at(io)),
          ({ name }) => `${name} is removed.`,
        ),
    },
  };
}
