/** Translates a request of the Responses API into OpenAI's chat form. */
import {
  type ChatRequest,
  type JsonObject,
  listAt,
  modelAt,
  objectAt,
  optionalBoolean,
  optionalNumber,
  optionalObject,
  optionalString,
  refused,
  streamFields,
  stringAt,
  unreadMembers,
  withSource,
} from "portico/provider";

import type { Reading } from "./reading.ts";
import { READ_MEMBERS } from "./read-members.ts";

export interface ReadSettings {
  /** The chat request without the messages and tools. */
  request: Omit<ChatRequest, "messages" | "tools">;
  instructions: string | undefined;
  input: JsonObject[];
  stream: boolean;
  /** Whether the client wants the response stored. The archive decides. */
  store: boolean;
  previous: string | undefined;
  dropped: string[];
}

/** Members that both formats share. */
const SHARED = ["user", "safety_identifier", "prompt_cache_key", "service_tier"] as const;

/**
 * Members that this plugin or the routing reads, and members whose loss changes no response. All others are reported as
 * dropped.
 */
const READ = new Set<string>([
  "model",
  "models",
  "input",
  "prompt",
  "instructions",
  "previous_response_id",
  "stream",
  "stream_options",
  "store",
  "tools",
  "tool_choice",
  "parallel_tool_calls",
  "reasoning",
  "text",
  "include",
  "metadata",
  "background",
  "max_output_tokens",
  "temperature",
  "top_p",
  "top_logprobs",
  "truncation",
  "presence_penalty",
  "frequency_penalty",
  "client_metadata",
  ...SHARED,
]);

/** Paths of chat's form with the corresponding paths of this one. */
const RENAMED = {
  messages: "input",
  max_completion_tokens: "max_output_tokens",
  reasoning_effort: "reasoning.effort",
  verbosity: "text.verbosity",
  logprobs: "include",
  response_format: "text.format",
  "response_format.json_schema": "text.format",
};

/** Translates everything but the messages and tools. Throws 400 with `param` for an invalid or unsupported member. */
export function readSettings(body: JsonObject, reading: Reading): ReadSettings {
  const model = modelAt(body);
  refuseUnsupported(body, reading);
  const input = readInput(body.input);
  const previous = optionalString(body.previous_response_id, "previous_response_id");
  if (input.length === 0 && previous === undefined && body.prompt == null) refuseEmptyInput(body);
  checkMetadata(body.metadata);
  const stream = optionalBoolean(body.stream, "stream") === true;
  return {
    request: withSource({ model, ...streamFields(stream), ...readParameters(body) }, "", RENAMED),
    instructions: optionalString(body.instructions, "instructions"),
    input,
    stream,
    store: optionalBoolean(body.store, "store") !== false,
    previous,
    dropped: droppedMembers(body),
  };
}

function refuseUnsupported(body: JsonObject, reading: Reading): void {
  if (body.conversation != null)
    throw refused("conversation", "Conversations are not supported: use `previous_response_id`");
  if (body.prompt != null)
    reading.refuse("prompt", "Prompt templates are not supported: send `instructions` and `input`");
  if (optionalBoolean(body.background, "background") === true)
    throw refused("background", "Background responses are not supported: use `stream`");
}

function refuseEmptyInput({ input }: JsonObject): never {
  if (input == null) throw refused("input", "`input` is missing: send a string or a list of items");
  throw refused("input", "`input` is empty");
}

function readParameters(body: JsonObject): JsonObject {
  const reasoning = optionalObject(body.reasoning, "reasoning");
  const shared = SHARED.map((name) => [name, optionalString(body[name], name)]);
  return {
    max_completion_tokens: optionalNumber(
      body.max_output_tokens,
      "max_output_tokens",
      1,
      Number.MAX_SAFE_INTEGER,
    ),
    temperature: optionalNumber(body.temperature, "temperature", 0, 2),
    top_p: optionalNumber(body.top_p, "top_p", 0, 1),
    presence_penalty: optionalNumber(body.presence_penalty, "presence_penalty", -2, 2),
    frequency_penalty: optionalNumber(body.frequency_penalty, "frequency_penalty", -2, 2),
    reasoning_effort: optionalString(reasoning?.effort, "reasoning.effort"),
    ...readText(body.text),
    ...readLogprobs(body),
    ...Object.fromEntries(shared),
  };
}

function droppedMembers(body: JsonObject): string[] {
  const dropped = Object.keys(body).filter((name) => !READ.has(name) && body[name] != null);
  const truncation = optionalString(body.truncation, "truncation");
  const top = truncation === "auto" ? ["truncation", ...dropped] : dropped;
  return [...top, ...unreadMembers(body, READ_MEMBERS)];
}

/** Throws 400 if a value is no string: the response repeats the metadata unchanged. */
function checkMetadata(value: unknown): void {
  for (const [name, text] of Object.entries(optionalObject(value, "metadata") ?? {}))
    stringAt(text, `metadata.${name}`);
}

function readInput(value: unknown): JsonObject[] {
  if (value == null || value === "") return [];
  if (typeof value === "string") return [{ type: "message", role: "user", content: value }];
  if (!Array.isArray(value)) throw refused("input", "`input` must be a string or a list of items");
  return value.map((item, i) => objectAt(item, `input[${i}]`));
}

function readText(value: unknown): JsonObject {
  const text = optionalObject(value, "text");
  const verbosity = optionalString(text?.verbosity, "text.verbosity");
  const format = optionalObject(text?.format, "text.format");
  if (format === undefined || format.type === "text") return { verbosity };
  if (format.type === "json_object") return { verbosity, response_format: { type: "json_object" } };
  if (format.type !== "json_schema") {
    throw refused(
      "text.format.type",
      "`text.format.type` must be text, json_object or json_schema",
    );
  }
  const description = optionalString(format.description, "text.format.description");
  const strict = optionalBoolean(format.strict, "text.format.strict");
  return {
    verbosity,
    response_format: {
      type: "json_schema",
      json_schema: {
        name: stringAt(format.name, "text.format.name"),
        schema: objectAt(format.schema, "text.format.schema"),
        description,
        strict,
      },
    },
  };
}

function readLogprobs(body: JsonObject): JsonObject {
  const include = body.include == null ? [] : listAt(body.include, "include");
  const top = optionalNumber(body.top_logprobs, "top_logprobs", 0, 20);
  if (!include.includes("message.output_text.logprobs") && !top) return {};
  return { logprobs: true, top_logprobs: top };
}
