/** Spans in OTLP's JSON format (https://opentelemetry.io/docs/specs/otlp/). */
import { createHash, randomBytes } from "node:crypto";

type AttributeValue = string | number | boolean | undefined;

export interface SpanFields {
  name: string;
  kind: keyof typeof KINDS;
  /** The end in milliseconds since the epoch; `ms` is the duration. */
  endedAt: number;
  ms: number;
  /** Undefined attributes are omitted. */
  attributes: Record<string, AttributeValue>;
  /** The error's status or code, if it failed. It is not a message. */
  error?: string | undefined;
  /** The span's trace and its position in it. Without a place, the span starts a new trace. */
  place?: { traceId: string; spanId?: string; parentSpanId?: string | undefined } | undefined;
}

export type Span = Readonly<Record<string, unknown>>;

const KINDS = { internal: 1, client: 3 } as const;
const ERROR_STATUS = { code: 2 };
const MAX_CHARACTERS = 256;

const newId = (bytes: number): string => randomBytes(bytes).toString("hex");

/** Derives the ids of something that is reported in parts from its name, so that all parts have the same ids. */
export function deriveIds(name: string): { traceId: string; spanId: string } {
  const hash = createHash("sha256").update(name).digest("hex");
  return { traceId: hash.slice(0, 32), spanId: hash.slice(32, 48) };
}

/** Matches a W3C `traceparent` of any version, with any fields that later versions add. */
const TRACEPARENT =
  /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-[0-9a-f]{2}(?:-.*)?$/;

/** Returns the place below the caller's span, or undefined if the caller sent no valid `traceparent`. */
export function placeBelow(traceparent: string | undefined): SpanFields["place"] {
  const [, traceId, parentSpanId] = TRACEPARENT.exec(traceparent ?? "") ?? [];
  return traceId === undefined ? undefined : { traceId, parentSpanId };
}

/**
 * Shortens a text and replaces a halved character, since callers choose some texts, and collectors refuse long or malformed
 * ones.
 */
const shortenText = (text: string): string => Buffer.from(text.slice(0, MAX_CHARACTERS)).toString();

const nanoseconds = (ms: number): string => `${BigInt(Math.round(ms * 1000)) * 1000n}`;

function encodeValue(value: Exclude<AttributeValue, undefined>): object {
  if (typeof value === "string") return { stringValue: shortenText(value) };
  if (typeof value === "boolean") return { boolValue: value };
  return Number.isSafeInteger(value) ? { intValue: String(value) } : { doubleValue: value };
}

export const encodeAttributes = (attributes: Record<string, AttributeValue>): object[] =>
  Object.entries(attributes).flatMap(([key, value]) =>
    value === undefined || (typeof value === "number" && !Number.isFinite(value))
      ? []
      : [{ key, value: encodeValue(value) }],
  );

export function createSpan({
  name,
  kind,
  endedAt,
  ms,
  attributes,
  error,
  place,
}: SpanFields): Span {
  return {
    traceId: newId(16),
    spanId: newId(8),
    ...place,
    name: shortenText(name),
    kind: KINDS[kind],
    startTimeUnixNano: nanoseconds(endedAt - ms),
    endTimeUnixNano: nanoseconds(endedAt),
    attributes: encodeAttributes({ ...attributes, "error.type": error }),
    status: error === undefined ? {} : ERROR_STATUS,
  };
}
