/** The interface to a provider's format that a fake upstream needs. The tests of all providers use it. */
import type { IncomingHttpHeaders } from "node:http";

/** The answer of the model. */
export interface Script {
  text?: string[];
  calls?: { id?: string; name: string; args?: Record<string, unknown> }[];
  reasoning?: string;
  finish?: "length" | "filter";
}

/** The usage in every answer. `prompt` includes `cached`, `completion` includes reasoning. */
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

/** Returns the status that most providers use for a problem. */
export function statusOf(problem: Problem): number {
  return STATUS[problem];
}

export interface SeenRequest {
  method: string;
  /** The path with the query. */
  path: string;
  headers: IncomingHttpHeaders;
  body: any;
}

/** A request in a form that is common to all providers. */
export interface View {
  model: string;
  stream: boolean;
  system: string;
  turns: {
    role: "user" | "assistant" | "tool";
    text: string;
    /** Images in base64, or URLs if the provider accepts them. */
    images: string[];
    calls: { id?: string; name: string; args: unknown }[];
    results: { id?: string; name?: string; text: string }[];
  }[];
  tools: string[];
  /** The tool choice: `required`, a tool's name in brackets, … */
  choice: string | undefined;
  schema: unknown;
  maxTokens: number | undefined;
  temperature: number | undefined;
  stop: string[];
}

export interface Dialect {
  name: string;
  model: string;
  /** Returns the channel's configuration for an upstream at this root. */
  channel(root: string): Record<string, unknown>;
  /** Reads a request as strictly as the provider does. Throws if the provider would refuse it. */
  read(seen: SeenRequest): View;
  wholeType: string;
  whole(script: Script): Buffer;
  streamType: string;
  /** Returns the events in order. The last ones end the answer. */
  stream(script: Script): Buffer[];
  /** The number of events at the end of a stream that only end it. */
  closing: number;
  refusal(problem: Problem): {
    status: number;
    body: unknown;
    headers?: Record<string, string> | undefined;
  };
  /** Returns an error event inside a stream. */
  errorEvent(message: string): Buffer;
  /** Returns the response to a request that counts tokens, or `undefined` for other paths. */
  countTokens?(path: string): object | undefined;
  /** Returns the id of a call that the client must receive, if the upstream sends ids. */
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
