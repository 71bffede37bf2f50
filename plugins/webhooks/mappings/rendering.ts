/** What a mapping makes of a delivery: the words for the agent, the session, the rest of the turn. Changes nothing. */
import { exactJson, principalNamed } from "portico";
import { errors } from "../errors.ts";
import { clip, fitsPattern } from "portico/strings";
import { withEventValues } from "portico/deliveries";
import type { Request } from "./paths.ts";
import { readTemplate } from "./template.ts";
import type { MappingConfig } from "../schema.ts";
import type { Mapping } from "../settings.ts";

/** One delivery, ready for the agent. JSON-ready: bursts keep it in the store. */
export interface Rendering {
  mapping: string;
  action: "agent" | "wake";
  /** The task in the owner's words; nothing from outside is in it. */
  task: string;
  /** What came from outside: goes into a fence. */
  text: string;
  /** `text` is the task with its values filled in, so it is what hooks see as the message. */
  filled: boolean;
  session?: string;
  /** The payload does not name the session. */
  temporary?: boolean;
  model?: string;
  channel?: string;
  delivery?: MappingConfig["delivery"];
  mode?: "next-heartbeat" | "now";
  /** Placeholders without a value. */
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

/** What a transform answered, taken apart. `skip`: the delivery is dropped. */
export interface Change {
  skip?: true;
  body?: unknown;
  overrides: Partial<Record<Exclude<(typeof FIELDS)[number], "body">, string>>;
}

/**
 * `null` drops the delivery, nothing leaves it as it is, a text is the message, an object with any of `FIELDS` changes
 * these, any other value is the new body. Throws `transform_failed` for a field of the wrong kind.
 */
export function readChange(answer: unknown, mapping: string): Change {
  if (answer === undefined) return { overrides: {} };
  if (answer === null) return { skip: true, overrides: {} };
  if (typeof answer === "string") return { overrides: { message: answer } };
  if (
    typeof answer !== "object" ||
    Array.isArray(answer) ||
    !FIELDS.some((name) => Object.hasOwn(answer, name))
  )
    return { body: answer, overrides: {} };
  const fields = answer as Record<string, unknown>;
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

/** `keySessions`: patterns of the sessions that webhook keys have. */
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
  const words = overrides.message ?? overrides.text;
  const session = oneLine(
    overrides.session ?? sessionOf(mapping, request, { missing, keySessions }) ?? "",
  );
  const model = overrides.model ?? config.model;
  const channel = overrides.channel ?? config.channel;
  const mode = overrides.mode ?? config.mode;
  return {
    mapping: name,
    action: (overrides.action ?? config.action) === "wake" ? "wake" : "agent",
    ...wording(mapping, words, request, missing),
    session: session || undefined,
    model,
    channel,
    delivery: deliveryFor(selectDelivery(overrides.delivery, config.delivery), request),
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

/** The target with what the request has for its placeholders. */
function deliveryFor(
  delivery: MappingConfig["delivery"],
  request: Request,
): MappingConfig["delivery"] {
  if (typeof delivery !== "object") return delivery === "announce" ? delivery : undefined;
  return withEventValues(
    delivery,
    (placeholder) => readTemplate(placeholder, "delivery").render(request).text,
  );
}

function wording(
  { name, message }: Mapping,
  words: string | undefined,
  request: Request,
  missing: string[],
): Pick<Rendering, "task" | "text" | "filled"> {
  const plain = `A webhook has arrived through the mapping "${name}". Do what it requires.`;
  if (words !== undefined)
    return { task: message?.isFixed ? message.source : plain, text: words, filled: true };
  if (!message || message.isFixed)
    return { task: message?.source ?? plain, text: payloadOf(request.body), filled: false };
  const { text, missing: without } = message.render(request);
  missing.push(...without);
  const task = `${message.outline}\n\n(Each […] stands for a value from outside. Below, the values are filled in.)`;
  return { task, text, filled: true };
}

/**
 * What the payload has a part in lies under `webhook:`, and never among the sessions of a webhook key: no sender may name
 * a session of others. Where the payload has nothing for it, strangers would meet in one: then nobody has named it.
 */
function sessionOf(
  { name, session: template }: Mapping,
  request: Request,
  { missing, keySessions }: { missing: string[]; keySessions: readonly string[] },
): string | undefined {
  if (!template) return undefined;
  const { text, missing: without, isBlank } = template.render(request);
  missing.push(...without);
  if (isBlank) return undefined;
  if (template.isFixed) return text;
  const session = template.source.startsWith("webhook:") ? text : `webhook:${text}`;
  const isKeys = keySessions.some((pattern) => fitsPattern(pattern, session));
  return isKeys ? `${principalNamed("webhook", name)}:${session}` : session;
}

function payloadOf(body: unknown): string {
  return clip(exactJson.stringify(body, 2) ?? "", PAYLOAD_CHARS);
}

/** A session's id is no place for line breaks, nor for a whole payload. */
function oneLine(text: string): string {
  return text
    .replace(/[\p{Cc}\s]+/gu, " ")
    .trim()
    .slice(0, 256);
}
