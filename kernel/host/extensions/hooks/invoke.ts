/**
 * Calls one handler with its own copy of the event, and returns the effects that it asks for. Changes nothing itself.
 */
import { isDeepStrictEqual } from "node:util";
import { typeName } from "../../../schema/problems.ts";
import { exactJson } from "../../../text/exact-json.ts";
import type { BusEvent, EventSpec, HookContext } from "../../../contract/index.ts";

export type Handler = (event: BusEvent, ctx: HookContext) => unknown;

/** The effects that a successful handler asks for. */
export interface Effects {
  result?: { reply: string } | { block: string };
  /** Declared changeable fields with their new values. */
  changed: Record<string, unknown>;
  /** Replies that were pushed on `event.messages`. */
  messages: string[];
  /** Effects that the event does not allow: one sentence each, with the events that do. */
  ignored: string[];
}

type Specs = ReadonlyMap<string, EventSpec>;
type End = { reply: string } | { block: string };

/**
 * Runs the handler on a copy of the event, so that a handler that fails half-way, or continues after its deadline, has
 * changed nothing. Throws the handler's error. Returns a promise only if the handler does.
 */
export function invoke(
  handler: Handler,
  event: BusEvent,
  ctx: HookContext,
  specs: Specs,
): Effects | Promise<Effects> {
  const context: Record<string, unknown> = { ...event.context };
  for (const key in context) context[key] = copyValue(context[key]);
  addPackNames(context);
  const view: BusEvent = Object.assign(
    { ...event },
    { timestamp: new Date(event.timestamp), context, messages: [] },
  );
  const returned = handler(view, ctx);
  const finish = (result: unknown) => collectEffects(result, view, event, specs);
  return returned instanceof Object && "then" in returned
    ? Promise.resolve(returned).then(finish)
    : finish(returned);
}

/** Existing hook packs read the workspace as `workspaceDir`. The property is readable, but not a field of the event. */
function addPackNames(context: Record<string, unknown>): void {
  const { workspace: value } = context;
  if (value !== undefined && !("workspaceDir" in context))
    Object.defineProperty(context, "workspaceDir", { value });
}

function copyValue(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  try {
    return exactJson.copy(value);
  } catch {
    // A socket, or an object with functions, cannot be copied; the handler receives the original.
    return value;
  }
}

function collectEffects(returned: unknown, view: BusEvent, event: BusEvent, specs: Specs): Effects {
  const effects: Effects = { changed: {}, messages: [], ignored: [] };
  collectChanges(effects, view, event, specs);
  collectMessages(effects, view);
  collectEnd(effects, returned, event.name, specs);
  return effects;
}

function collectChanges(effects: Effects, view: BusEvent, event: BusEvent, specs: Specs): void {
  const before = event.context as Record<string, unknown>;
  const after = view.context as Record<string, unknown>;
  for (const key in { ...before, ...after }) {
    if (before[key] === after[key] || isDeepStrictEqual(before[key], after[key])) continue;
    const refusal = listChangeable(specs.get(event.name)).includes(key)
      ? describeWrongType(before[key], after[key])
      : describeFixedField(event.name, key, specs);
    if (refusal) effects.ignored.push(`its change to context.${key} is ignored: ${refusal}`);
    else effects.changed[key] = after[key];
  }
}

function collectMessages(effects: Effects, view: BusEvent): void {
  for (const message of Array.isArray(view.messages) ? view.messages : []) {
    if (typeof message === "string") effects.messages.push(message);
    else
      effects.ignored.push("event.messages accepts only strings; another value in it is ignored");
  }
}

function collectEnd(effects: Effects, returned: unknown, event: string, specs: Specs): void {
  const end = readEnd(returned);
  if (end === undefined) {
    if (returned === undefined || returned === null) return;
    effects.ignored.push(
      "its return value is ignored, because it is neither undefined, {reply: text} nor {block: reason}",
    );
    return;
  }
  const kind = "block" in end ? "block" : "reply";
  const spec = specs.get(event);
  if (spec === undefined || listAllowedEnds(spec).includes(kind)) {
    effects.result = end;
    return;
  }
  const eventsAllowing = [...specs].filter(([, other]) => listAllowedEnds(other).includes(kind));
  const verb = kind === "block" ? "blocked" : "answered";
  effects.ignored.push(
    `${event} cannot be ${verb}: its ${kind} is ignored${listAllowing(event, eventsAllowing)}`,
  );
}

function readEnd(returned: unknown): End | undefined {
  const { reply, block } = (returned ?? {}) as { reply?: unknown; block?: unknown };
  // The type requires a reason, which plain JavaScript may omit.
  if (block === true) return { block: "" };
  if (typeof block === "string") return { block };
  return typeof reply === "string" ? { reply } : undefined;
}

const listChangeable = (spec: EventSpec | undefined): readonly string[] => spec?.changes ?? [];

function listAllowedEnds({ effects, mode }: EventSpec): readonly string[] {
  return effects ?? (mode === "answer" ? ["reply", "block"] : []);
}

function describeFixedField(event: string, key: string, specs: Specs): string {
  const changeable = listChangeable(specs.get(event));
  const allowedText = changeable.length > 0 ? `only ${changeable.join(", ")}` : "nothing";
  const eventsAllowing = [...specs].filter(([, spec]) => listChangeable(spec).includes(key));
  return `${event} lets hooks change ${allowedText}${listAllowing(event, eventsAllowing)}`;
}

/** Lists the events that allow the effect, preferring those of the same kind. */
function listAllowing(event: string, allowing: readonly (readonly [string, EventSpec])[]): string {
  if (allowing.length === 0) return "";
  const kind = `${event.split(":")[0]}:`;
  const names = allowing.map(([name]) => name).sort();
  const sameKind = names.filter((name) => name.startsWith(kind));
  const suggestions = (sameKind.length > 0 ? sameKind : names).slice(0, 3);
  return `; use ${suggestions.join(" or ")} for that`;
}

/** Says why a value has the wrong type: a field must keep its type, because the gateway uses it afterwards. */
function describeWrongType(before: unknown, after: unknown): string | undefined {
  const expected = typeName(before ?? undefined);
  const actual = typeName(after ?? undefined);
  if (before === undefined || expected === actual) return undefined;
  return `the field must stay ${expected}, but is now ${actual}`;
}
