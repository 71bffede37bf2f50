/** Translates a request of the Messages API into OpenAI's form. */
import { createHash } from "node:crypto";
import {
  type ChatRequest,
  type ChatTool,
  effortOfBudget,
  functionAt,
  isObject,
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
import { markOf, readSystem, readTurn } from "./content.ts";
import { READ_MEMBERS } from "./read-members.ts";

export interface ReadRequest {
  request: ChatRequest;
  /** Members that OpenAI's form cannot express. */
  dropped: string[];
}

/** Members that this plugin or the routing reads, or whose loss changes no response. All others are reported as dropped. */
const READ = new Set([
  ...[
    "model",
    "models",
    "max_tokens",
    "messages",
    "system",
    "stop_sequences",
    "metadata",
    "tools",
    "tool_choice",
  ],
  ...[
    "stream",
    "temperature",
    "top_p",
    "top_k",
    "thinking",
    "output_config",
    "output_format",
    "service_tier",
    "thread",
  ],
]);

/** Throws 400 with `param`. Anthropic's own tools and types of blocks stay unchanged. */
export function readMessages(body: JsonObject): ReadRequest {
  const model = modelAt(body);
  const maxTokens = optionalNumber(body.max_tokens, "max_tokens", 0, Number.MAX_SAFE_INTEGER);
  if (maxTokens === undefined)
    throw refused("max_tokens", "`max_tokens` is missing: send a number of tokens");
  if (!Number.isInteger(maxTokens)) throw refused("max_tokens", "`max_tokens` must be an integer");
  const list = listAt(body.messages, "messages");
  if (list.length === 0)
    throw refused("messages", "`messages` is empty: send at least one message");

  const messages = list.flatMap((message, i) => readTurn(message, `messages[${i}]`));
  const system = readSystem(body.system, "system");
  if (system !== undefined)
    messages.unshift(
      withSource({ role: "system", content: system }, "system", { content: "system" }),
    );
  const stops = body.stop_sequences == null ? [] : listAt(body.stop_sequences, "stop_sequences");
  const user = optionalString(
    optionalObject(body.metadata, "metadata")?.user_id,
    "metadata.user_id",
  );
  const tools = body.tools == null ? [] : listAt(body.tools, "tools").map(readTool);

  const request: ChatRequest = {
    model,
    messages,
    // 0 only fills Anthropic's cache; other formats need at least one token for that.
    max_tokens: Math.max(1, maxTokens),
    ...streamFields(optionalBoolean(body.stream, "stream") === true),
    temperature: optionalNumber(body.temperature, "temperature", 0, 1),
    top_p: optionalNumber(body.top_p, "top_p", 0, 1),
    top_k: optionalNumber(body.top_k, "top_k", 0, Number.MAX_SAFE_INTEGER),
    stop:
      stops.length > 0 ? stops.map((stop, i) => stringAt(stop, `stop_sequences[${i}]`)) : undefined,
    ...(tools.length > 0 ? { tools, ...readToolChoice(body.tool_choice) } : {}),
    reasoning_effort: readThinking(body),
    response_format: readFormat(body),
    user: user === undefined ? undefined : shortenUser(user),
    service_tier: body.service_tier === "standard_only" ? "default" : undefined,
    // A channel that speaks the format gets the whole request unchanged; any other refuses a thread.
    thread: optionalObject(body.thread, "thread"),
  };
  return {
    request: withSource(request, "", renamedMembers(body)),
    dropped: [
      ...Object.keys(body).filter((name) => !READ.has(name) && body[name] != null),
      ...unreadMembers(body, READ_MEMBERS),
    ],
  };
}

/** Returns the paths of chat's form with the corresponding paths of this one. */
function renamedMembers({ output_config: output, thinking }: JsonObject): Record<string, string> {
  const isByBudget = isObject(thinking) && thinking["type"] === "enabled";
  const format =
    isObject(output) && output["format"] != null ? "output_config.format" : "output_format";
  return {
    stop: "stop_sequences",
    user: "metadata.user_id",
    parallel_tool_calls: "tool_choice.disable_parallel_tool_use",
    reasoning_effort: isByBudget ? "thinking" : "output_config.effort",
    response_format: format,
    "response_format.json_schema": format,
  };
}

function readTool(value: unknown, i: number): ChatTool {
  const path = `tools[${i}]`;
  const tool = objectAt(value, path);
  // Anthropic runs such tools itself: its own channels get the whole request unchanged, others refuse it.
  if (typeof tool.type === "string" && tool.type !== "custom") return { ...tool, type: tool.type };
  const definition = functionAt(tool, path);
  const parameters = objectAt(tool.input_schema, `${path}.input_schema`);
  return withSource(
    { type: "function", function: { ...definition, parameters }, ...markOf(tool) },
    path,
    { function: path, "function.parameters": `${path}.input_schema` },
  );
}

function readToolChoice(value: unknown): JsonObject {
  const choice = optionalObject(value, "tool_choice");
  if (choice === undefined) return {};
  const isSingle = optionalBoolean(
    choice.disable_parallel_tool_use,
    "tool_choice.disable_parallel_tool_use",
  );
  return {
    tool_choice: choiceOf(choice),
    parallel_tool_calls: isSingle === true ? false : undefined,
  };
}

function choiceOf(choice: JsonObject): unknown {
  switch (choice.type) {
    case "auto":
    case "none":
      return choice.type;
    case "any":
      return "required";
    case "tool":
      return { type: "function", function: { name: stringAt(choice.name, "tool_choice.name") } };
    default:
      throw refused("tool_choice.type", "`tool_choice.type` must be auto, any, tool or none");
  }
}

/** Translates `thinking` and `output_config.effort` into `reasoning_effort`. */
function readThinking(body: JsonObject): string | undefined {
  const thinking = optionalObject(body.thinking, "thinking");
  const effort = optionalString(
    optionalObject(body.output_config, "output_config")?.effort,
    "output_config.effort",
  );
  if (thinking?.type === "enabled") {
    const budget = optionalNumber(
      thinking.budget_tokens,
      "thinking.budget_tokens",
      1024,
      Number.MAX_SAFE_INTEGER,
    );
    if (budget === undefined)
      throw refused("thinking.budget_tokens", "`thinking.budget_tokens` is missing");
    return effortOfBudget(budget);
  }
  if (thinking !== undefined && stringAt(thinking.type, "thinking.type") === "disabled")
    return undefined;
  return effort;
}

function readFormat(body: JsonObject): JsonObject | undefined {
  const format = optionalObject(
    optionalObject(body.output_config, "output_config")?.format ?? body.output_format,
    "output_config.format",
  );
  if (format?.type !== "json_schema") return undefined;
  const schema = objectAt(format.schema, "output_config.format.schema");
  return { type: "json_schema", json_schema: { name: "answer", schema, strict: true } };
}

/** OpenAI refuses longer ids. */
const MAX_USER = 64;

function shortenUser(user: string): string {
  return user.length <= MAX_USER
    ? user
    : `user_${createHash("sha256").update(user).digest("hex").slice(0, 40)}`;
}
