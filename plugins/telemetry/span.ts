/** Spans as OTLP's JSON has them (https://opentelemetry.io/docs/specs/otlp/). */
import { createHash, randomBytes } from "node:crypto";

type AttributeValue = string | number | boolean | undefined;

export interface SpanFields {
  name: string;
  kind: keyof typeof KINDS;
  /** Milliseconds since the epoch at its end, and how long it took. */
  endedAt: number;
  ms: number;
  /** Undefined ones are left out. */
  attributes: Record<string, AttributeValue>;
  /** Why it failed, where it did: a status or a code, no message. */
  error?: string | undefined;
  /** Which trace it belongs to, and where in it; a trace of its own without. */
  place?: { traceId: string; spanId?: string; parentSpanId?: string | undefined } | undefined;
}

export type Span = Readonly<Record<string, unknown>>;

const KINDS = { internal: 1, client: 3 } as const;
const FAILED = { code: 2 };
const MOST_CHARACTERS = 256;

const newId = (bytes: number): string => randomBytes(bytes).toString("hex");

/** The ids of something that is reported in pieces. They follow from its name, so every reporter finds the same ones. */
export function idsOf(name: string): { traceId: string; spanId: string } {
  const hash = createHash("sha256").update(name).digest("hex");
  return { traceId: hash.slice(0, 32), spanId: hash.slice(32, 48) };
}

/** A W3C `traceparent`; the version, and what later ones may add, do not matter. */
const TRACEPARENT =
  /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-[0-9a-f]{2}(?:-.*)?$/;

/** The place of what a caller asked for in the caller's own trace; undefined where it named none that can be read. */
export function placeBelow(traceparent: string | undefined): SpanFields["place"] {
  const [, traceId, parentSpanId] = TRACEPARENT.exec(traceparent ?? "") ?? [];
  return traceId === undefined ? undefined : { traceId, parentSpanId };
}

/** Short and whole: callers choose some texts, and collectors refuse a page, and half a character with all that comes with it. */
const shown = (text: string): string => Buffer.from(text.slice(0, MOST_CHARACTERS)).toString();

const nanoseconds = (ms: number): string => `${BigInt(Math.round(ms * 1000)) * 1000n}`;

function otlpValue(value: Exclude<AttributeValue, undefined>): object {
  if (typeof value === "string") return { stringValue: shown(value) };
  if (typeof value === "boolean") return { boolValue: value };
  return Number.isSafeInteger(value) ? { intValue: String(value) } : { doubleValue: value };
}

export const attributesOf = (attributes: Record<string, AttributeValue>): object[] =>
  Object.entries(attributes).flatMap(([key, value]) =>
    value === undefined || (typeof value === "number" && !Number.isFinite(value))
      ? []
      : [{ key, value: otlpValue(value) }],
  );

export function spanOf({ name, kind, endedAt, ms, attributes, error, place }: SpanFields): Span {
  return {
    traceId: newId(16),
    spanId: newId(8),
    ...place,
    name: shown(name),
    kind: KINDS[kind],
    startTimeUnixNano: nanoseconds(endedAt - ms),
    endTimeUnixNano: nanoseconds(endedAt),
    attributes: attributesOf({ ...attributes, "error.type": error }),
    status: error === undefined ? {} : FAILED,
  };
}
