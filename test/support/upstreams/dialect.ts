/** What a fake upstream must know of its provider's format; the matrix is written against this. */
import type { IncomingHttpHeaders } from "node:http";

/** What the model "says". */
export interface Script {
  text?: string[];
  calls?: { id?: string; name: string; args?: Record<string, unknown> }[];
  reasoning?: string;
  finish?: "length" | "filter";
}

/** Usage of every answer: `prompt` includes `cached`, `completion` includes `reasoning`. */
export const TOKENS = { prompt: 20, cached: 5, completion: 7 };

export type Problem =
  | "auth"
  | "request"
  | "rate_limit"
  | "overloaded"
  | "server"
  /** The prompt is longer than the model's context. */
  | "context_length"
  /** The provider has no model of this name. */
  | "model";

const STATUS: Record<Problem, number> = {
  auth: 401,
  request: 400,
  rate_limit: 429,
  overloaded: 503,
  server: 500,
  context_length: 400,
  model: 404,
};

/** The status that most providers give for a problem. */
export function statusOf(problem: Problem): number {
  return STATUS[problem];
}

export interface SeenRequest {
  method: string;
  /** With the query. */
  path: string;
  headers: IncomingHttpHeaders;
  body: any;
}

/** A request in common terms. */
export interface View {
  model: string;
  stream: boolean;
  system: string;
  turns: {
    role: "user" | "assistant" | "tool";
    text: string;
    /** Base64, or the URL where the provider takes one. */
    images: string[];
    calls: { id?: string; name: string; args: unknown }[];
    results: { id?: string; name?: string; text: string }[];
  }[];
  tools: string[];
  /** `required`, a name in brackets, … */
  choice: string | undefined;
  schema: unknown;
  maxTokens: number | undefined;
  temperature: number | undefined;
  stop: string[];
}

export interface Dialect {
  name: string;
  model: string;
  /** The channel's entry for an upstream at this root. */
  channel(root: string): Record<string, unknown>;
  /** Reads a request as strictly as the provider would; throws for one that it would refuse. */
  read(seen: SeenRequest): View;
  wholeType: string;
  whole(script: Script): Buffer;
  streamType: string;
  /** The events in order; the last ones end the answer. */
  stream(script: Script): Buffer[];
  /** How many of the last events of a stream do nothing but end it. */
  closing: number;
  refusal(problem: Problem): {
    status: number;
    body: unknown;
    headers?: Record<string, string> | undefined;
  };
  /** An error inside a stream. */
  errorEvent(message: string): Buffer;
  /** The response to a request that counts tokens, by its path; `undefined` for other paths. */
  countTokens?(path: string): object | undefined;
  /** The id of a call as it must come to the client, where the upstream gives ids. */
  clientId?(upstreamId: string): string;
}

export function turn(role: View["turns"][number]["role"]): View["turns"][number] {
  return { role, text: "", images: [], calls: [], results: [] };
}

/** Throws unless the object has these keys only, as strict servers do. */
export function onlyKeys(what: string, value: unknown, keys: readonly string[]): void {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new Error(`${what} is no object`);
  for (const key of Object.keys(value)) {
    if (!keys.includes(key)) throw new Error(`${what} has the unknown field ${key}`);
  }
}

export function need(condition: unknown, what: string): asserts condition {
  if (!condition) throw new Error(what);
}

export function jsonBytes(value: unknown): Buffer {
  return Buffer.from(JSON.stringify(value));
}

export function sse(value: unknown, event?: string, end = "\n"): Buffer {
  const name = event === undefined ? "" : `event: ${event}${end}`;
  return Buffer.from(
    `${name}data: ${typeof value === "string" ? value : JSON.stringify(value)}${end}${end}`,
  );
}
