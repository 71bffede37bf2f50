/** A request of the Responses API in OpenAI's chat form. */
import {
  type ChatRequest,
  type ChatTool,
  functionAt,
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
} from "portico/chat";

export interface ReadSettings {
  /** All but the messages. */
  request: Omit<ChatRequest, "messages">;
  instructions: string | undefined;
  input: JsonObject[];
  stream: boolean;
  /** What the caller wants; whether it is kept is for the archive to say. */
  store: boolean;
  previous: string | undefined;
  /** Names of tools that take free text: chat has functions only, and gets them as functions with one string. */
  custom: ReadonlySet<string>;
  dropped: string[];
}

/** Asks for more than a conversation with a model: refused, since leaving it out would change the meaning. */
const REFUSED: Record<string, string> = {
  conversation: "Conversations are not kept here: use previous_response_id",
  prompt: "Prompt templates are not kept here: send instructions and input",
};

const PASSED = ["user", "safety_identifier", "prompt_cache_key", "service_tier"] as const;

/** Members that are read, here or by the routing, or whose loss changes no response. All others are named as dropped. */
const READ = new Set<string>([
  ...[
    "model",
    "models",
    "input",
    "instructions",
    "previous_response_id",
    "stream",
    "stream_options",
    "store",
  ],
  ...[
    "tools",
    "tool_choice",
    "parallel_tool_calls",
    "reasoning",
    "text",
    "include",
    "metadata",
    "background",
  ],
  ...["max_output_tokens", "temperature", "top_p", "top_logprobs", "truncation"],
  ...PASSED,
]);

/** Throws 400 with `param`. */
export function readSettings(body: JsonObject): ReadSettings {
  const model = modelAt(body);
  for (const [name, why] of Object.entries(REFUSED))
    if (body[name] != null) throw refused(name, why);
  if (optionalBoolean(body.background, "background") === true)
    throw refused("background", "Background responses are not supported: use stream");
  const input = readInput(body.input);
  const previous = optionalString(body.previous_response_id, "previous_response_id");
  if (input.length === 0 && previous === undefined) {
    throw refused(
      "input",
      body.input == null
        ? "`input` is missing: give a text or a list of items"
        : "`input` is empty",
    );
  }
  checkMetadata(body.metadata);
  const stream = optionalBoolean(body.stream, "stream") === true;
  const tools = body.tools == null ? [] : listAt(body.tools, "tools").map(readTool);
  const parallel = optionalBoolean(body.parallel_tool_calls, "parallel_tool_calls");
  const effort = optionalString(
    optionalObject(body.reasoning, "reasoning")?.effort,
    "reasoning.effort",
  );
  const passed = PASSED.map((name) => [name, optionalString(body[name], name)]);
  return {
    request: {
      model,
      ...streamFields(stream),
      max_completion_tokens: optionalNumber(
        body.max_output_tokens,
        "max_output_tokens",
        1,
        Number.MAX_SAFE_INTEGER,
      ),
      temperature: optionalNumber(body.temperature, "temperature", 0, 2),
      top_p: optionalNumber(body.top_p, "top_p", 0, 1),
      ...(tools.length > 0
        ? { tools, tool_choice: readToolChoice(body.tool_choice), parallel_tool_calls: parallel }
        : {}),
      reasoning_effort: effort,
      ...readText(body.text),
      ...readLogprobs(body),
      ...Object.fromEntries(passed),
    },
    instructions: optionalString(body.instructions, "instructions"),
    input,
    stream,
    store: optionalBoolean(body.store, "store") !== false,
    previous,
    custom: new Set((tools.length > 0 ? (body.tools as JsonObject[]) : []).flatMap(customName)),
    dropped: [
      ...(optionalString(body.truncation, "truncation") === "auto" ? ["truncation"] : []),
      ...Object.keys(body).filter((name) => !READ.has(name) && body[name] != null),
    ],
  };
}

/** It comes back in the response as it is. */
function checkMetadata(value: unknown): void {
  for (const [name, one] of Object.entries(optionalObject(value, "metadata") ?? {}))
    stringAt(one, `metadata.${name}`);
}

function readInput(value: unknown): JsonObject[] {
  if (value == null || value === "") return [];
  if (typeof value === "string") return [{ type: "message", role: "user", content: value }];
  if (!Array.isArray(value)) throw refused("input", "`input` must be a text or a list of items");
  return value.map((item, i) => objectAt(item, `input[${i}]`));
}

function readTool(value: unknown, i: number): ChatTool {
  const path = `tools[${i}]`;
  const tool = objectAt(value, path);
  if (tool.type === "custom") return readCustom(tool, path);
  if (tool.type !== "function") {
    throw refused(
      `${path}.type`,
      `Tools of type ${JSON.stringify(tool.type)} are not supported here: use functions`,
    );
  }
  const named = functionAt(tool, path);
  return {
    type: "function",
    function: { ...named, parameters: optionalObject(tool.parameters, `${path}.parameters`) },
  };
}

function customName(tool: JsonObject): string[] {
  return tool.type === "custom" ? [String(tool.name)] : [];
}

function readCustom(tool: JsonObject, path: string): ChatTool {
  const name = stringAt(tool.name, `${path}.name`);
  const format = optionalObject(tool.format, `${path}.format`);
  const grammar =
    format?.type === "grammar"
      ? `The input must follow this grammar (${String(format.syntax)}):\n${String(format.definition)}`
      : undefined;
  const description = [optionalString(tool.description, `${path}.description`), grammar]
    .filter(Boolean)
    .join("\n\n");
  return {
    type: "function",
    function: {
      name,
      description: description || undefined,
      parameters: {
        type: "object",
        properties: {
          input: { type: "string", description: "The input of the tool, as plain text" },
        },
        required: ["input"],
        additionalProperties: false,
      },
    },
  };
}

function readToolChoice(value: unknown): unknown {
  if (value == null) return undefined;
  if (value === "none" || value === "auto" || value === "required") return value;
  const choice = objectAt(value, "tool_choice");
  if (choice.type === "function" || choice.type === "custom")
    return functionNamed(choice, "tool_choice");
  if (choice.type === "allowed_tools") {
    const tools = listAt(choice.tools, "tool_choice.tools").map((tool, i) => {
      const path = `tool_choice.tools[${i}]`;
      return functionNamed(objectAt(tool, path), path);
    });
    return { type: "allowed_tools", allowed_tools: { mode: choice.mode ?? "auto", tools } };
  }
  throw refused(
    "tool_choice",
    "`tool_choice` must be none, auto, required, a function, or allowed_tools",
  );
}

function functionNamed(value: JsonObject, path: string): JsonObject {
  return { type: "function", function: { name: stringAt(value.name, `${path}.name`) } };
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
