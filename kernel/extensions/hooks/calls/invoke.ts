/** Calls one handler with an event of its own, and says what it wants done. Changes nothing by itself. */
import type { Effects } from "../../../contract/records.ts";
import { isDeepStrictEqual } from "node:util";
import { runBounded } from "../../load/bounded.ts";
import type { BusEvent, EventSpec, HookContext } from "../../../types.ts";

export type Handler = (event: BusEvent, ctx: HookContext) => unknown;

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
  const view = copyOf(event);
  const call = () => handler(view, ctx);
  const given = limitMs === undefined ? call() : runBounded(call, limitMs);
  if (isThenable(given)) return Promise.resolve(given).then((result) => effectsOf(result, view, event, spec));
  return effectsOf(given, view, event, spec);
}

function copyOf(event: BusEvent): BusEvent {
  return {
    type: event.type,
    action: event.action,
    name: event.name,
    sessionKey: event.sessionKey,
    timestamp: new Date(event.timestamp),
    context: withPackNames(copyOfContext(event.context)),
    messages: [],
  };
}

/** What existing packs read under a name of their own: seen when asked for, and no field of the event. */
function withPackNames(context: BusEvent["context"]): BusEvent["context"] {
  const { workspace } = context as { workspace?: unknown };
  if (workspace === undefined || "workspaceDir" in context) return context;
  return Object.defineProperty(context, "workspaceDir", { value: workspace, enumerable: false });
}

function copyOfContext(context: BusEvent["context"]): BusEvent["context"] {
  try {
    return structuredClone({ ...context });
  } catch {
    // Something in it has no copy (a function, a socket): the handler sees that itself.
    const copy: Record<string, unknown> = {};
    for (const [key, value] of Object.entries(context)) copy[key] = copyOrSame(value);
    return copy as BusEvent["context"];
  }
}

function copyOrSame(value: unknown): unknown {
  try {
    return structuredClone(value);
  } catch {
    return value;
  }
}

function effectsOf(given: unknown, view: BusEvent, event: BusEvent, spec: EventSpec | undefined): Effects {
  const effects: Effects = { changed: {}, messages: [], ignored: [] };
  const before = event.context as Record<string, unknown>;
  const after = view.context as Record<string, unknown>;
  const changeable = new Set<string>(spec?.changes ?? []);
  for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
    if (isDeepStrictEqual(before[key], after[key])) continue;
    const why = changeable.has(key)
      ? whyUnfit(before[key], after[key])
      : `${event.name} lets hooks change ${listed(changeable)}`;
    if (why) effects.ignored.push(`its change of context.${key} is ignored: ${why}`);
    else effects.changed[key] = after[key];
  }
  for (const message of Array.isArray(view.messages) ? view.messages : []) {
    if (typeof message === "string") effects.messages.push(message);
    else effects.ignored.push("event.messages takes strings; something else that was pushed is ignored");
  }
  const result = resultOf(given);
  if (result === "odd")
    effects.ignored.push("it returned neither nothing, {reply: text} nor {block: reason}; that is ignored");
  else if (result && spec && !effectsOfEvent(spec).includes("reply" in result ? "reply" : "block")) {
    const [what, done] = "reply" in result ? ["reply", "answered"] : ["block", "blocked"];
    effects.ignored.push(`${event.name} cannot be ${done}: its ${what} is ignored`);
  } else effects.result = result;
  return effects;
}

/** A field keeps its kind: the gateway goes on working with it. */
function whyUnfit(before: unknown, after: unknown): string | undefined {
  if (before === undefined) return undefined;
  const [was, is] = [kindOf(before), kindOf(after)];
  return was === is ? undefined : `it must stay ${was}, not ${is}`;
}

function kindOf(value: unknown): string {
  if (value === null || value === undefined) return "nothing";
  if (Array.isArray(value)) return "a list";
  return (
    { string: "a text", object: "an object", number: "a number", boolean: "true or false" }[typeof value as string] ??
    typeof value
  );
}

function listed(changeable: ReadonlySet<string>): string {
  return changeable.size ? `only ${[...changeable].join(", ")}` : "nothing";
}

function effectsOfEvent({ effects, mode }: EventSpec): readonly string[] {
  return effects ?? (mode === "answer" ? ["reply", "block"] : []);
}

function resultOf(given: unknown): Effects["result"] | "odd" {
  if (given === undefined || given === null) return undefined;
  const { reply, block } = given as { reply?: unknown; block?: unknown };
  if (typeof block === "string") return { block };
  if (typeof reply === "string") return { reply };
  return "odd";
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === "object" && value !== null && typeof (value as { then?: unknown }).then === "function";
}
