/**
 * Validates a chat completions request by hand: a valid one costs a few property reads, and the error for an invalid
 * one names the wrong field. Unknown fields stay. `null` means unset everywhere.
 */
import { exactJson } from "portico";
import type { ChatMessage, ChatRequest } from "portico/provider";
import { type Fields, isObject } from "./fields.ts";
import { errors } from "../errors.ts";

/** Limit for names of tools and users, because they are stored by name. */
const MAX_NAME_LENGTH = 256;

const isName = (value: unknown): value is string =>
  typeof value === "string" && value !== "" && value.length <= MAX_NAME_LENGTH;

const ROLES = new Set(["system", "developer", "user", "assistant", "tool", "function"]);

/** Returns the value itself, typed, or throws `invalid_request_error` (400) with `param`. */
export function checkRequest(value: unknown): ChatRequest {
  if (!isObject(value)) fail("The body must be a JSON object with `model` and `messages`.");
  checkModel(value["model"]);
  checkMessages(value["messages"]);
  checkNumbers(value);
  checkOptions(value);
  return value as ChatRequest;
}

function checkModel(model: unknown): void {
  if (typeof model === "string" && model !== "") return;
  fail(
    model == null
      ? '`model` is missing: name a model, for example "echo".'
      : "`model` must be a non-empty string.",
    "model",
  );
}

function checkMessages(messages: unknown): void {
  if (!Array.isArray(messages)) {
    fail(
      messages == null
        ? "`messages` is missing: send a list with at least one message."
        : "`messages` must be an array.",
      "messages",
    );
  }
  if (messages.length === 0) fail("`messages` is empty: send at least one message.", "messages");
  for (let i = 0; i < messages.length; i++) checkMessage(messages[i], i);
}

function checkNumbers(fields: Fields): void {
  checkNumber(fields, "temperature", 0, 2);
  checkNumber(fields, "top_p", 0, 1);
  checkNumber(fields, "frequency_penalty", -2, 2);
  checkNumber(fields, "presence_penalty", -2, 2);
  checkInteger(fields, "max_tokens", 1, Number.MAX_SAFE_INTEGER);
  checkInteger(fields, "max_completion_tokens", 1, Number.MAX_SAFE_INTEGER);
  checkInteger(fields, "n", 1, 128);
  checkInteger(fields, "top_logprobs", 0, 20);
  checkInteger(fields, "seed", Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER);
}

function checkOptions(fields: Fields): void {
  if (fields["stream"] != null && typeof fields["stream"] !== "boolean")
    fail("`stream` must be true or false.", "stream");
  if (fields["tools"] != null) checkTools(fields["tools"]);
  if (fields["tool_choice"] != null) checkToolChoice(fields["tool_choice"]);
  if (fields["stop"] != null) checkStop(fields["stop"]);
  checkType(fields, "logprobs", "boolean");
  checkType(fields, "parallel_tool_calls", "boolean");
  checkType(fields, "user", "string");
  if (typeof fields["user"] === "string" && fields["user"].length > MAX_NAME_LENGTH)
    fail(`\`user\` has more than ${MAX_NAME_LENGTH} characters.`, "user");
  checkType(fields, "reasoning_effort", "string");
  checkObject(fields, "logit_bias");
  checkObject(fields, "metadata");
  checkObject(fields, "stream_options");
  if (fields["stream_options"] != null)
    checkType(fields["stream_options"] as Fields, "include_usage", "boolean", "stream_options.");
  checkObject(fields, "response_format");
  if (fields["response_format"] != null) checkResponseFormat(fields["response_format"] as Fields);
}

function checkMessage(value: unknown, i: number): void {
  const at = (field: string) => `messages[${i}]${field}`;
  if (!isObject(value)) fail(`\`${at("")}\` must be an object with a role.`, at(""));
  const { role, content } = value;
  if (typeof role !== "string" || !ROLES.has(role)) {
    fail(
      role == null
        ? `\`${at(".role")}\` is missing.`
        : `\`${at(".role")}\` must be one of system, developer, user, assistant, tool or function, not ${describeValue(role)}.`,
      at(".role"),
    );
  }
  if (value["tool_calls"] != null) checkToolCalls(value["tool_calls"], at(".tool_calls"), role);
  if (value["tool_call_id"] != null && typeof value["tool_call_id"] !== "string") {
    fail(`\`${at(".tool_call_id")}\` must be a string.`, at(".tool_call_id"));
  }
  if (value["name"] != null && typeof value["name"] !== "string")
    fail(`\`${at(".name")}\` must be a string.`, at(".name"));
  if (content != null) checkContent(content, at(".content"));
  else if (!mayLackContent(value))
    fail(
      `\`${at(".content")}\` is missing: send a string or an array of content parts.`,
      at(".content"),
    );
}

const INSTEAD_OF_CONTENT = ["tool_calls", "function_call", "refusal", "audio", "reasoning_content"];

/** An assistant message may consist of calls, a refusal, audio or reasoning; a function's result may be null. */
function mayLackContent(message: Fields): boolean {
  if (message["role"] === "function") return true;
  return message["role"] === "assistant" && INSTEAD_OF_CONTENT.some((name) => name in message);
}

function checkContent(content: unknown, path: string): void {
  if (typeof content === "string") return;
  if (!Array.isArray(content))
    fail(`\`${path}\` must be a string or an array of content parts.`, path);
  for (let p = 0; p < content.length; p++) checkPart(content[p], `${path}[${p}]`);
}

function checkPart(part: unknown, path: string): void {
  if (!isObject(part)) fail(`\`${path}\` must be an object with a type.`, path);
  if (typeof part["type"] !== "string")
    fail(`\`${path}.type\` is missing or not a string.`, `${path}.type`);
  if (part["type"] === "text" && typeof part["text"] !== "string")
    fail(`\`${path}.text\` must be a string.`, `${path}.text`);
  if (part["type"] === "image_url") {
    const image = part["image_url"];
    if (typeof image === "string") return;
    if (!isObject(image) || typeof image["url"] !== "string")
      fail(`\`${path}.image_url.url\` must be a URL.`, `${path}.image_url.url`);
  }
}

function checkToolCalls(calls: unknown, path: string, role: string): void {
  if (role !== "assistant") fail(`\`${path}\` is allowed only on assistant messages.`, path);
  if (!Array.isArray(calls)) fail(`\`${path}\` must be an array.`, path);
  for (let i = 0; i < calls.length; i++) checkToolCall(calls[i], `${path}[${i}]`);
}

function checkToolCall(call: unknown, path: string): void {
  if (!isObject(call)) fail(`\`${path}\` must be an object.`, path);
  if (call["id"] != null && typeof call["id"] !== "string")
    fail(`\`${path}.id\` must be a string.`, `${path}.id`);
  const fn = call["function"];
  if (fn == null) return;
  if (!isObject(fn) || typeof fn["name"] !== "string")
    fail(`\`${path}.function.name\` must be a string.`, `${path}.function.name`);
  if (fn["arguments"] != null && typeof fn["arguments"] !== "string")
    fail(
      `\`${path}.function.arguments\` must be a string that holds JSON.`,
      `${path}.function.arguments`,
    );
}

function checkTools(tools: unknown): void {
  if (!Array.isArray(tools)) fail("`tools` must be an array.", "tools");
  for (let i = 0; i < tools.length; i++) checkTool(tools[i], `tools[${i}]`);
}

function checkTool(tool: unknown, path: string): void {
  if (!isObject(tool)) fail(`\`${path}\` must be an object.`, path);
  if (typeof tool["type"] !== "string")
    fail(`\`${path}.type\` must be "function".`, `${path}.type`);
  if (tool["type"] === "function") checkFunction(tool["function"], `${path}.function`);
}

function checkFunction(fn: unknown, path: string): void {
  if (!isObject(fn)) fail(`\`${path}\` must be an object with a name.`, path);
  if (!isName(fn["name"]))
    fail(
      `\`${path}.name\` must be a string of 1 to ${MAX_NAME_LENGTH} characters.`,
      `${path}.name`,
    );
  if (fn["description"] != null && typeof fn["description"] !== "string")
    fail(`\`${path}.description\` must be a string.`, `${path}.description`);
  if (fn["parameters"] != null && !isObject(fn["parameters"]))
    fail(`\`${path}.parameters\` must be a JSON Schema object.`, `${path}.parameters`);
}

function checkToolChoice(choice: unknown): void {
  if (typeof choice === "string") {
    if (choice === "none" || choice === "auto" || choice === "required" || choice === "any") return;
    fail(
      '`tool_choice` must be "none", "auto", "required" or an object that names a tool.',
      "tool_choice",
    );
  }
  if (!isObject(choice) || typeof choice["type"] !== "string")
    fail("`tool_choice` must be a string or an object with a type.", "tool_choice");
  if (choice["type"] !== "function") return;
  const fn = choice["function"];
  if (!isObject(fn) || typeof fn["name"] !== "string")
    fail("`tool_choice.function.name` must be a string.", "tool_choice.function.name");
}

function checkStop(stop: unknown): void {
  if (typeof stop === "string") return;
  if (!Array.isArray(stop) || stop.some((item) => typeof item !== "string"))
    fail("`stop` must be a string or an array of strings.", "stop");
}

function checkResponseFormat(format: Fields): void {
  if (typeof format["type"] !== "string")
    fail("`response_format.type` must be a string.", "response_format.type");
  if (format["type"] !== "json_schema") return;
  const jsonSchema = format["json_schema"];
  if (!isObject(jsonSchema))
    fail(
      "`response_format.json_schema` must be an object with a name and a schema.",
      "response_format.json_schema",
    );
  if (jsonSchema["schema"] != null && !isObject(jsonSchema["schema"])) {
    fail(
      "`response_format.json_schema.schema` must be a JSON Schema object.",
      "response_format.json_schema.schema",
    );
  }
}

/** Returns the value of a member; for an integer beyond 2^53 the nearest double, which every limit refuses. */
function plainNumber(value: unknown): unknown {
  return exactJson.isNumber(value) ? Number(value) : value;
}

function checkNumber(fields: Fields, key: string, low: number, high: number): void {
  const n = plainNumber(fields[key]);
  if (n == null) return;
  if (typeof n !== "number") fail(`\`${key}\` must be a number.`, key);
  if (!(n >= low && n <= high))
    fail(`\`${key}\` must be between ${low} and ${high}, not ${n}.`, key);
}

function checkInteger(fields: Fields, key: string, low: number, high: number): void {
  const n = plainNumber(fields[key]);
  if (n == null) return;
  if (typeof n !== "number" || !Number.isInteger(n)) fail(`\`${key}\` must be an integer.`, key);
  if (n < low) fail(`\`${key}\` must be at least ${low}, not ${n}.`, key);
  if (n > high) fail(`\`${key}\` must be at most ${high}, not ${n}.`, key);
}

function checkType(fields: Fields, key: string, type: "boolean" | "string", prefix = ""): void {
  if (fields[key] != null && typeof fields[key] !== type)
    fail(`\`${prefix}${key}\` must be a ${type}.`, prefix + key);
}

function checkObject(fields: Fields, key: string): void {
  if (fields[key] != null && !isObject(fields[key])) fail(`\`${key}\` must be an object.`, key);
}

function describeValue(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 60 ? `${text.slice(0, 57)}…` : text;
}

function fail(message: string, param?: string): never {
  throw errors.invalidRequest({ problem: message }, { param });
}

/** Returns the index of the last message of role `user`, or -1. */
export function lastUserIndex(messages: readonly ChatMessage[]): number {
  for (let i = messages.length - 1; i >= 0; i--) if (messages[i]?.role === "user") return i;
  return -1;
}

/** Returns the text of a message: its string, or its text parts joined by line breaks. */
export function textOf(message: ChatMessage | undefined): string {
  const content = message?.content;
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content.flatMap((part) => (typeof part.text === "string" ? [part.text] : [])).join("\n");
}

/** Returns a copy of the request with `text` in its last user message. Other parts of that message stay. */
export function withLastUserText(request: ChatRequest, text: string): ChatRequest {
  const index = lastUserIndex(request.messages);
  const oldMessage = request.messages[index];
  if (oldMessage === undefined) return request;
  const content = Array.isArray(oldMessage.content)
    ? [{ type: "text", text }, ...oldMessage.content.filter((part) => part.type !== "text")]
    : text;
  return {
    ...request,
    messages: request.messages.map((message, i) =>
      i === index ? { ...message, content } : message,
    ),
  };
}
