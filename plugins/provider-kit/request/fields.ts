/** Reads the fields of a chat request one by one, and keeps track of the fields that were not read. */
import type { PorticoError } from "portico";
import { errors } from "../errors.ts";

/** Any request in OpenAI's form. */
export interface RequestLike {
  model: string;
  messages: readonly MessageLike[];
  [field: string]: unknown;
}

/** Any message in OpenAI's form. */
export interface MessageLike {
  role: string;
  content?: unknown;
  [field: string]: unknown;
}

/**
 * The fields of one request. A `null` is an unset field. `dropped()` returns the fields that were not read so far, as those
 * that the target cannot express, except for values that have no effect (`n: 1`, `frequency_penalty: 0`).
 */
export interface Fields {
  take(name: string): unknown;
  number(name: string): number | undefined;
  string(name: string): string | undefined;
  boolean(name: string): boolean | undefined;
  object(name: string): Record<string, unknown> | undefined;
  /** `stop` as a list. */
  stops(): string[];
  /** `max_completion_tokens`, or otherwise `max_tokens`. */
  maxTokens(): number | undefined;
  /** Records the path of a value that was read but that the target cannot express. */
  drop(path: string): void;
  dropped(): string[];
}

/** Fields that other functions read. */
const READ_ELSEWHERE = ["model", "messages", "stream", "stream_options", "tools", "tool_choice"];

/** See {@link Fields}. Throws `invalid_request_error` (400) if omitting a field would change the meaning. */
export function readFields(request: RequestLike): Fields {
  const unread = new Set(
    Object.keys(request).filter((name) => request[name] !== null && request[name] !== undefined),
  );
  const dropped = new Set<string>();
  for (const name of READ_ELSEWHERE) unread.delete(name);
  for (const name of ["functions", "function_call"]) {
    if (unread.has(name))
      throw refused(
        name,
        `\`${name}\` is not supported by this channel: use \`tools\` and \`tool_choice\``,
      );
  }
  const modalities = request.modalities;
  if (Array.isArray(modalities) && modalities.some((modality) => modality !== "text")) {
    throw refused("modalities", "This channel responds only with text");
  }

  function take(name: string): unknown {
    unread.delete(name);
    return request[name] ?? undefined;
  }
  function takeTyped<T>(name: string, type: "number" | "string" | "boolean"): T | undefined {
    const value = take(name);
    if (value === undefined) return undefined;
    if (typeof value !== type) throw refused(name, `${name} must be a ${type}`);
    return value as T;
  }

  return {
    take,
    number: (name) => takeTyped<number>(name, "number"),
    string: (name) => takeTyped<string>(name, "string"),
    boolean: (name) => takeTyped<boolean>(name, "boolean"),
    object(name) {
      const value = take(name);
      if (value === undefined) return undefined;
      if (typeof value !== "object" || Array.isArray(value))
        throw refused(name, `\`${name}\` must be an object`);
      return value as Record<string, unknown>;
    },
    stops() {
      const value = take("stop");
      if (value === undefined) return [];
      const list = Array.isArray(value) ? value : [value];
      if (!list.every((item): item is string => typeof item === "string")) {
        throw refused("stop", "`stop` must be a string or a list of strings");
      }
      return list;
    },
    maxTokens() {
      const completion = takeTyped<number>("max_completion_tokens", "number");
      const plain = takeTyped<number>("max_tokens", "number");
      return completion ?? plain;
    },
    drop(path) {
      dropped.add(path);
    },
    dropped() {
      const rest = [...unread].filter((name) => !hasNoEffect(name, request[name]));
      return [...new Set([...dropped, ...rest])];
    },
  };
}

/** Throws 400 if the request asks for more than one response. For targets that return only one. */
export function onlyOneChoice(fields: Fields): void {
  const n = fields.number("n");
  if (n !== undefined && n !== 1)
    throw refused("n", "This channel returns one response per request: `n` must be 1");
}

/** True if the client asks for a usage chunk at the end of the stream. */
export function wantsUsage({
  stream_options: options,
}: Readonly<Record<string, unknown>>): boolean {
  return (options as { include_usage?: unknown } | null | undefined)?.include_usage === true;
}

/** Returns the error (400) for a field that the target cannot express. */
export function refused(param: string, message: string): PorticoError {
  return errors.refusedField({ problem: message }, { param });
}

function hasNoEffect(name: string, value: unknown): boolean {
  switch (name) {
    case "n":
      return value === 1;
    case "logprobs":
    case "store":
      return value === false;
    case "frequency_penalty":
    case "presence_penalty":
    case "top_logprobs":
      return value === 0;
    case "logit_bias":
      return typeof value === "object" && Object.keys(value as object).length === 0;
    case "parallel_tool_calls":
      return value === true;
    case "service_tier":
      return value === "auto";
    case "modalities":
      return true;
    default:
      return false;
  }
}

const EMBEDDINGS_FIELDS = new Set(["model", "input", "dimensions", "encoding_format"]);

/** Returns the names of a request's fields that not every format of embeddings has. */
export function besideEmbeddings(request: Record<string, unknown>): string[] {
  return Object.keys(request).filter(
    (name) => request[name] != null && !EMBEDDINGS_FIELDS.has(name),
  );
}
