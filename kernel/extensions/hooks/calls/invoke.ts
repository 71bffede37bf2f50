/** Calls one handler with an event of its own, and says what it wants done. Changes nothing by itself. */
import { isDeepStrictEqual } from "node:util";
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

/**
 * Runs the handler on a copy of the event: one that fails half-way, or goes on after its deadline, has changed nothing.
 * Throws what the handler throws; answers a promise only where the handler does.
 */
export function invoke(
  handler: Handler,
  event: BusEvent,
  ctx: HookContext,
  spec: EventSpec | undefined,
): Effects | Promise<Effects> {
  const context: Record<string, unknown> = { ...event.context };
  for (const key in context) context[key] = copyOf(context[key]);
  addPackNames(context);
  const view: BusEvent = Object.assign(
    { ...event },
    { timestamp: new Date(event.timestamp), context, messages: [] },
  );
  const given = handler(view, ctx);
  const finish = (result: unknown) => effectsOf(result, view, event, spec);
  return given instanceof Object && "then" in given
    ? Promise.resolve(given).then(finish)
    : finish(given);
}

/** What existing packs read under a name of their own: seen when asked for, and no field of the event. */
function addPackNames(context: Record<string, unknown>): void {
  const { workspace: value } = context;
  if (value !== undefined && !("workspaceDir" in context))
    Object.defineProperty(context, "workspaceDir", { value });
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

function effectsOf(
  given: unknown,
  view: BusEvent,
  event: BusEvent,
  spec: EventSpec | undefined,
): Effects {
  const effects: Effects = { changed: {}, messages: [], ignored: [] };
  const { ignored } = effects;
  const before = event.context as Record<string, unknown>;
  const after = view.context as Record<string, unknown>;
  const changeable: readonly string[] = spec?.changes ?? [];
  for (const key in { ...before, ...after }) {
    if (before[key] === after[key] || isDeepStrictEqual(before[key], after[key])) continue;
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
  const reason = block === true ? "" : block; // the type asks for one, plain JavaScript does not
  const end =
    typeof reason === "string"
      ? { block: reason }
      : typeof reply === "string"
        ? { reply }
        : undefined;
  const [kind, cannot] =
    end && "block" in end ? (["block", "blocked"] as const) : (["reply", "answered"] as const);
  if (end && ends?.includes(kind) !== false) effects.result = end;
  else if (end) ignored.push(`${event.name} cannot be ${cannot}: its ${kind} is ignored`);
  else if (given !== undefined && given !== null)
    ignored.push("it returned neither nothing, {reply: text} nor {block: reason}; that is ignored");
  return effects;
}

/** A field keeps its kind: the gateway goes on working with it. */
function whyUnfit(before: unknown, after: unknown): string | undefined {
  const [was, is] = [typeName(before ?? undefined), typeName(after ?? undefined)];
  return before === undefined || was === is ? undefined : `it must stay ${was}, not ${is}`;
}
