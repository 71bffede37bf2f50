/** Runs the handlers of an event that lets them change or end it, one after another. */
import { isDeepStrictEqual } from "node:util";
import { exactJson } from "../text/exact-json.ts";
import type {
  BusEvent,
  EmitResult,
  EventName,
  EventSpec,
  FieldChange,
  HandlerResult,
  HandlerRun,
  Logger,
} from "../contract/index.ts";
import type { PorticoError } from "../errors.ts";
import { callHandler, type Entry } from "./handler-call.ts";
import { errors } from "./errors.ts";

type Fields = Record<string, unknown>;
type End = "reply" | "block";

export interface Series<K extends EventName> {
  spec: EventSpec;
  event: BusEvent;
  entries: readonly Entry[];
  /** Receives the changed context, the messages, the outcomes, and the end of the event. */
  result: EmitResult<K>;
  /** Called after each handler. */
  trail: ((run: HandlerRun) => void) | undefined;
}

export async function runSeries<K extends EventName>(
  series: Series<K>,
  log: Logger,
): Promise<void> {
  const { event, entries, result } = series;
  const context: Fields = { ...event.context };
  result.context = context as typeof result.context;
  for (const entry of entries) {
    const hasEnded = await runHandler(series, entry, context, log);
    if (hasEnded) return;
  }
}

/** Returns whether the handler ended the event. */
async function runHandler<K extends EventName>(
  { spec, event, result, trail }: Series<K>,
  entry: Entry,
  context: Fields,
  log: Logger,
): Promise<boolean> {
  const changeable: readonly string[] = spec.changes ?? [];
  const view = entry.copies ? { ...context } : createView(context, changeable);
  const messages: string[] = [];
  const ownEvent = { ...event, context: view as BusEvent["context"], messages };
  const { outcome, result: handlerResult } = await callHandler(entry, ownEvent, log);
  const end = readEnd(handlerResult, listAllowedEnds(spec));
  result.outcomes.push(outcome);
  trail?.({
    event: event.name,
    outcome,
    changes: outcome.ok ? findChanges(changeable, context, view) : NO_CHANGES,
    effect: end,
  });
  if (!outcome.ok)
    return entry.failClosed === true && refuse(result, unavailableError(entry, event));
  for (const field of changeable) context[field] = view[field];
  result.messages.push(...messages);
  if (end === "block") {
    const { block } = handlerResult as { block: unknown };
    return refuse(result, blockedError(String(block)), String(block));
  }
  if (end === "reply") result.reply = String((handlerResult as { reply: unknown }).reply);
  return end !== undefined;
}

/** Ends the event with a refusal. */
function refuse(result: EmitResult, refusal: PorticoError, reason = refusal.message): true {
  result.refusal = refusal;
  result.block = reason;
  return true;
}

const blockedError = (reason: string): PorticoError =>
  errors.blocked({ reason: reason || "A hook refused the request." });

/** Creates the refusal for an event whose `failClosed` handler does not work. */
function unavailableError({ owner }: Entry, { name }: BusEvent): PorticoError {
  return errors.hookUnavailable({ owner: owner.replace(":", " "), event: name });
}

/** Returns the ways in which handlers may end an event. */
function listAllowedEnds({ effects, mode }: EventSpec): readonly End[] {
  return effects ?? (mode === "answer" ? ["reply", "block"] : []);
}

/** Returns how a handler's result ends the event, or undefined if it does not. */
function readEnd(returned: HandlerResult | undefined, ends: readonly End[]): End | undefined {
  if (!returned) return undefined;
  const { reply, block } = returned as { reply?: unknown; block?: unknown };
  if (block !== undefined && ends.includes("block")) return "block";
  return reply !== undefined && ends.includes("reply") ? "reply" : undefined;
}

export const NO_CHANGES: readonly FieldChange[] = [];

/**
 * Returns the changes that a handler made. Objects are compared member by member, because the field's name alone would
 * say nothing.
 */
function findChanges(
  fields: readonly string[],
  before: Record<string, unknown>,
  after: Record<string, unknown>,
): FieldChange[] {
  return fields.flatMap((field) => {
    const oldValue = before[field];
    const newValue = after[field];
    if (isDeepStrictEqual(oldValue, newValue)) return [];
    if (!isPlainObject(oldValue) || !isPlainObject(newValue))
      return [{ field, before: oldValue, after: newValue }];
    return [...new Set([...Object.keys(oldValue), ...Object.keys(newValue)])]
      .filter((name) => !isDeepStrictEqual(oldValue[name], newValue[name]))
      .map((name) => ({
        field: `${field}.${name}`,
        before: oldValue[name],
        after: newValue[name],
      }));
  });
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * Creates a copy in which only the changeable fields can be set, so that a handler that fails half-way has changed
 * nothing.
 */
function createView(
  context: Record<string, unknown>,
  changes: readonly string[],
): Record<string, unknown> {
  const view: Record<string, unknown> = {};
  for (const key in context) {
    const writable = changes.includes(key);
    const value =
      writable && context[key] instanceof Object ? exactJson.copy(context[key]) : context[key];
    Object.defineProperty(view, key, { value, writable, enumerable: true, configurable: false });
  }
  for (const key of changes)
    if (!(key in view))
      Object.defineProperty(view, key, { value: undefined, writable: true, enumerable: true });
  return view;
}
