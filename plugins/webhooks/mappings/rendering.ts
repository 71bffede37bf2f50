/** Renders a delivery for the agent: the task, the session, and the other settings of the turn. It has no side effects. */
import { exactJson, principalNamed } from "portico";
import { errors } from "../errors.ts";
import { clip, fitsPattern } from "portico/strings";
import { withEventValues } from "portico/deliveries";
import type { Request } from "./paths.ts";
import { readTemplate } from "./template.ts";
import type { MappingConfig } from "../schema.ts";
import type { Mapping } from "../settings.ts";

/** One delivery, ready for the agent. It is JSON, because bursts keep it in the store. */
export interface Rendering {
  mapping: string;
  action: "agent" | "wake";
  /** The task in the owner's words, without any text from outside. */
  task: string;
  /** The text from outside, which goes into a fence. */
  text: string;
  /** True if `text` is the task with its values filled in, so that hooks see it as the message. */
  filled: boolean;
  session?: string;
  /** True if neither the mapping nor the payload names the session. */
  temporary?: boolean;
  model?: string;
  channel?: string;
  delivery?: MappingConfig["delivery"];
  mode?: "next-heartbeat" | "now";
  /** The placeholders without a value. */
  missing: string[];
}

const PAYLOAD_CHARS = 20_000;
const FIELDS = [
  "body",
  "message",
  "text",
  "session",
  "model",
  "channel",
  "delivery",
  "action",
  "mode",
] as const;

/** The parsed result of a transform. With `skip`, the delivery is dropped. */
export interface Change {
  skip?: true;
  body?: unknown;
  overrides: Partial<Record<Exclude<(typeof FIELDS)[number], "body">, string>>;
}

/**
 * Parses the result of a transform: `null` drops the delivery, `undefined` leaves it unchanged, a string is the message, an
 * object with any of `FIELDS` changes these, and any other value is the new body. Throws `transform_failed` for a field of
 * the wrong type.
 */
export function readChange(result: unknown, mapping: string): Change {
  if (result === undefined) return { overrides: {} };
  if (result === null) return { skip: true, overrides: {} };
  if (typeof result === "string") return { overrides: { message: result } };
  if (
    typeof result !== "object" ||
    Array.isArray(result) ||
    !FIELDS.some((name) => Object.hasOwn(result, name))
  )
    return { body: result, overrides: {} };
  const fields = result as Record<string, unknown>;
  const change: Change = { overrides: {} };
  for (const name of FIELDS) {
    const value = Object.hasOwn(fields, name) ? fields[name] : undefined;
    if (value === undefined) continue;
    if (name === "body") change.body = value;
    else if (typeof value === "string") change.overrides[name] = value;
    else throw errors.transformResult({ mapping, field: name });
  }
  return change;
}

/** Renders a request. `keySessions` are the patterns of the sessions of webhook keys. */
export function render(
  mapping: Mapping,
  original: Request,
  change: Change,
  keySessions: readonly string[],
): Rendering {
  const { config, name } = mapping;
  const { overrides } = change;
  const request = change.body === undefined ? original : { ...original, body: change.body };
  const missing: string[] = [];
  const override = overrides.message ?? overrides.text;
  const session = toSessionId(
    overrides.session ?? renderSession(mapping, request, { missing, keySessions }) ?? "",
  );
  const model = overrides.model ?? config.model;
  const channel = overrides.channel ?? config.channel;
  const mode = overrides.mode ?? config.mode;
  return {
    mapping: name,
    action: (overrides.action ?? config.action) === "wake" ? "wake" : "agent",
    ...renderTask(mapping, override, request, missing),
    session: session || undefined,
    model,
    channel,
    delivery: withRequestValues(selectDelivery(overrides.delivery, config.delivery), request),
    mode: mode === "now" ? mode : undefined,
    missing,
  };
}

/** A transform may choose between `announce` and `none`; only the configuration names a target. */
function selectDelivery(
  override: string | undefined,
  configured: MappingConfig["delivery"],
): MappingConfig["delivery"] {
  if (override === undefined) return configured;
  return override === "announce" ? "announce" : "none";
}

/** Adds the values of the request for the target's placeholders. */
function withRequestValues(
  delivery: MappingConfig["delivery"],
  request: Request,
): MappingConfig["delivery"] {
  if (typeof delivery !== "object") return delivery === "announce" ? delivery : undefined;
  return withEventValues(
    delivery,
    (placeholder) => readTemplate(placeholder, "delivery").render(request).text,
  );
}

function renderTask(
  { name, message }: Mapping,
  override: string | undefined,
  request: Request,
  missing: string[],
): Pick<Rendering, "task" | "text" | "filled"> {
  const defaultTask = `A webhook has arrived through the mapping "${name}". Do what it requires.`;
  if (override !== undefined)
    return { task: message?.isFixed ? message.source : defaultTask, text: override, filled: true };
  if (!message || message.isFixed)
    return {
      task: message?.source ?? defaultTask,
      text: formatPayload(request.body),
      filled: false,
    };
  const { text, missing: unfilled } = message.render(request);
  missing.push(...unfilled);
  const task = `${message.outline}\n\n(Each […] stands for a value from outside. Below, the values are filled in.)`;
  return { task, text, filled: true };
}

/**
 * Returns the session that the mapping names, or undefined if it names none. A session with values of the payload begins with
 * `webhook:` and is never one of a webhook key, so that no sender can name a session of others. If the payload has no value
 * for it, it is undefined too, since otherwise unrelated senders would share a session.
 */
function renderSession(
  { name, session: template }: Mapping,
  request: Request,
  { missing, keySessions }: { missing: string[]; keySessions: readonly string[] },
): string | undefined {
  if (!template) return undefined;
  const { text, missing: unfilled, isBlank } = template.render(request);
  missing.push(...unfilled);
  if (isBlank) return undefined;
  if (template.isFixed) return text;
  const session = template.source.startsWith("webhook:") ? text : `webhook:${text}`;
  const belongsToKey = keySessions.some((pattern) => fitsPattern(pattern, session));
  return belongsToKey ? `${principalNamed("webhook", name)}:${session}` : session;
}

function formatPayload(body: unknown): string {
  return clip(exactJson.stringify(body, 2) ?? "", PAYLOAD_CHARS);
}

/** Removes line breaks and truncates the text, because a session's id must not hold a whole payload. */
function toSessionId(text: string): string {
  return text
    .replace(/[\p{Cc}\s]+/gu, " ")
    .trim()
    .slice(0, 256);
}
