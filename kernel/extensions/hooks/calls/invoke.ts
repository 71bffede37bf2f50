/** Calls one handler with an event of its own, and says what it wants done. Changes nothing by itself. */
import { isDeepStrictEqual } from "node:util";
import { runBounded } from "../../../modules/bounded.ts";
import { typeName } from "../../../schema/problems.ts";
import type { BusEvent, EventSpec, HookContext } from "../../../types.ts";

export type Handler = (event: BusEvent, ctx: HookContext) => unknown;

/** What a handler that succeeded asks for. */
export interface Effects {
  result?: { reply: string } | { block: string };
  /** Declared changeable fields with their new values. */
  changed: Record<string, unknown>;
  /** Replies that were pushed on `event.messages`. */
  messages: string[];
  /** What it asked for and does not get, one line each. */
  ignored: string[];
}

export interface Invocation {
  handler: Handler;
  event: BusEvent;
  spec: EventSpec | undefined;
  ctx: HookContext;
  /** The handler's synchronous part may take no longer; absent for the package's own hooks. */
  limitMs?: number;
}

/**
 * Runs the handler on a copy of the event: one that fails half-way, or goes on after its deadline, has changed nothing.
 * Throws what the handler throws; answers a promise only where the handler does.
 */
export function invoke({ handler, event, spec, ctx, limitMs }: Invocation): Effects | Promise<Effects> {
  const context = Object.fromEntries(Object.entries(event.context).map(([key, value]) => [key, copyOf(value)]));
  const own = { timestamp: new Date(event.timestamp), context: withPackNames(context), messages: [] };
  const view: BusEvent = Object.assign({ ...event }, own);
  const call = () => handler(view, ctx);
  const given = limitMs === undefined ? call() : runBounded(call, limitMs);
  if (given instanceof Object && "then" in given)
    return Promise.resolve(given).then((result) => effectsOf(result, view, event, spec));
  return effectsOf(given, view, event, spec);
}

/** What existing packs read under a name of their own: seen when asked for, and no field of the event. */
function withPackNames(context: Record<string, unknown>): Record<string, unknown> {
  const { workspace } = context;
  if (workspace === undefined || "workspaceDir" in context) return context;
  return Object.defineProperty(context, "workspaceDir", { value: workspace, enumerable: false });
}

function copyOf(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  try {
    return structuredClone(value);
  } catch {
    // It has no copy (a socket, something with functions): the handler sees it itself.
    return value;
  }
}

function effectsOf(given: unknown, view: BusEvent, event: BusEvent, spec: EventSpec | undefined): Effects {
  const effects: Effects = { changed: {}, messages: [], ignored: [] };
  const { ignored } = effects;
  const before = event.context as Record<string, unknown>;
  const after = view.context as Record<string, unknown>;
  const changeable: readonly string[] = spec?.changes ?? [];
  for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
    if (isDeepStrictEqual(before[key], after[key])) continue;
    const why = changeable.includes(key)
      ? whyUnfit(before[key], after[key])
      : `${event.name} lets hooks change ${changeable.length ? `only ${changeable.join(", ")}` : "nothing"}`;
    if (why) ignored.push(`its change of context.${key} is ignored: ${why}`);
    else effects.changed[key] = after[key];
  }
  for (const message of Array.isArray(view.messages) ? view.messages : []) {
    if (typeof message === "string") effects.messages.push(message);
    else ignored.push("event.messages takes strings; something else that was pushed is ignored");
  }
  const { reply, block } = (given ?? {}) as { reply?: unknown; block?: unknown };
  const ends = spec && (spec.effects ?? (spec.mode === "answer" ? ["reply", "block"] : []));
  if (typeof block === "string") {
    if (ends?.includes("block") === false) ignored.push(`${event.name} cannot be blocked: its block is ignored`);
    else effects.result = { block };
  } else if (typeof reply === "string") {
    if (ends?.includes("reply") === false) ignored.push(`${event.name} cannot be answered: its reply is ignored`);
    else effects.result = { reply };
  } else if (given !== undefined && given !== null)
    ignored.push("it returned neither nothing, {reply: text} nor {block: reason}; that is ignored");
  return effects;
}

/** A field keeps its kind: the gateway goes on working with it. */
function whyUnfit(before: unknown, after: unknown): string | undefined {
  const [was, is] = [typeName(before ?? undefined), typeName(after ?? undefined)];
  return before === undefined || was === is ? undefined : `it must stay ${was}, not ${is}`;
}
