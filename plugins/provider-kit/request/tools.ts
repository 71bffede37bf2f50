/** Reads `tools`, `tool_choice`, `response_format` and `reasoning_effort` of a request in OpenAI's form. */
import { stringifyExact } from "../json/exact-json.ts";
import type { Fields, RequestLike } from "./fields.ts";
import { refused } from "./fields.ts";
import { unknownMembers } from "./unread-members.ts";

interface ToolSpec {
  name: string;
  description?: string;
  /** A JSON Schema; absent where the tool takes nothing. */
  parameters?: Record<string, unknown>;
  strict: boolean;
  /** Anthropic's cache mark. */
  cache?: unknown;
  /** `tools[0]`. */
  path: string;
}

type ToolChoice =
  | { kind: "auto" }
  | { kind: "none" }
  | { kind: "required" }
  | { kind: "named"; name: string };

/** The tools of a request and how they may be used. */
export interface ToolUse {
  /** Those that the choice allows; empty where the request has none. */
  tools: ToolSpec[];
  /** Undefined where the request has none: `auto`. */
  choice: ToolChoice | undefined;
}

/** Throws `invalid_request_error` (400) with `param` for tools and choices that only OpenAI has. */
export function readTools(request: RequestLike, fields?: Pick<Fields, "drop">): ToolUse {
  const list = request.tools ?? [];
  if (!Array.isArray(list)) throw refused("tools", "tools must be a list");
  const tools = list.map((tool, i) => readTool(tool, i, fields));
  const value = request.tool_choice ?? undefined;
  if (value === undefined) return { tools, choice: undefined };
  if (value === "none" || value === "auto") return { tools, choice: { kind: value } };
  if (tools.length === 0) throw refused("tool_choice", "tool_choice needs tools");
  if (value === "required" || value === "any") return { tools, choice: { kind: "required" } };
  if (typeof value === "object") {
    const choice = value as {
      type?: unknown;
      function?: { name?: unknown };
      allowed_tools?: unknown;
    };
    dropUnknown(choice, OF_CHOICES, "tool_choice", fields);
    if (choice.type === "function") {
      const name = named(
        choice.function?.name,
        new Set(tools.map((tool) => tool.name)),
        "tool_choice.function.name",
      );
      return { tools, choice: { kind: "named", name } };
    }
    if (choice.type === "allowed_tools") return allowed(choice.allowed_tools ?? choice, tools);
  }
  throw refused(
    "tool_choice",
    "tool_choice must be none, auto, required, a function, or allowed_tools",
  );
}

const OF_CHOICES = ["type", "function", "allowed_tools", "mode", "tools"];
const OF_TOOLS = ["type", "function", "cache_control"];
const OF_FUNCTIONS = ["name", "description", "parameters", "strict", "cache_control"];

function readTool(value: unknown, i: number, fields: Pick<Fields, "drop"> | undefined): ToolSpec {
  const path = `tools[${i}]`;
  const tool = value as {
    type?: unknown;
    function?: Record<string, unknown>;
    cache_control?: unknown;
  } | null;
  if (typeof tool !== "object" || tool === null) throw refused(path, `${path} must be an object`);
  if (tool.type !== "function")
    throw refused(`${path}.type`, "This channel accepts only tools of type function");
  const fn = tool.function;
  if (typeof fn?.name !== "string" || fn.name === "")
    throw refused(`${path}.function.name`, "A tool needs a name");
  const parameters = fn.parameters ?? undefined;
  if (parameters !== undefined && (typeof parameters !== "object" || Array.isArray(parameters))) {
    throw refused(
      `${path}.function.parameters`,
      "The parameters of a tool must be a JSON Schema object",
    );
  }
  dropUnknown(tool, OF_TOOLS, path, fields);
  dropUnknown(fn, OF_FUNCTIONS, `${path}.function`, fields);
  return {
    name: fn.name,
    description: typeof fn.description === "string" ? fn.description : undefined,
    parameters: parameters as Record<string, unknown> | undefined,
    strict: fn.strict === true,
    cache: tool.cache_control ?? fn.cache_control ?? undefined,
    path,
  };
}

function dropUnknown(
  object: object,
  known: readonly string[],
  path: string,
  fields: Pick<Fields, "drop"> | undefined,
): void {
  for (const unknown of unknownMembers(object, known, path)) fields?.drop(unknown);
}

function allowed(value: unknown, tools: ToolSpec[]): ToolUse {
  const path = "tool_choice.allowed_tools";
  const { mode, tools: names } = value as { mode?: unknown; tools?: unknown };
  if ((mode !== "auto" && mode !== "required") || !Array.isArray(names)) {
    throw refused(path, "allowed_tools needs a mode (auto or required) and a list of tools");
  }
  const known = new Set(tools.map((tool) => tool.name));
  const wanted = new Set(
    names.map((one: { function?: { name?: unknown }; name?: unknown } | null, i) =>
      named(one?.function?.name ?? one?.name, known, `${path}.tools[${i}]`),
    ),
  );
  return { tools: tools.filter((tool) => wanted.has(tool.name)), choice: { kind: mode } };
}

function named(name: unknown, known: ReadonlySet<string>, path: string): string {
  if (typeof name === "string" && known.has(name)) return name;
  throw refused(path, `tool_choice names a tool that is not in tools: ${JSON.stringify(name)}`);
}

export type ResponseFormat =
  | { kind: "json" }
  | {
      kind: "schema";
      name: string;
      description?: string;
      schema: Record<string, unknown>;
      strict: boolean;
    };

const OF_JSON_SCHEMA = ["name", "description", "schema", "strict"];

/** Undefined for plain text. */
export function readResponseFormat(fields: Fields): ResponseFormat | undefined {
  const format = fields.object("response_format");
  if (format === undefined || format.type === "text") return undefined;
  if (format.type === "json_object") return { kind: "json" };
  const spec = format.json_schema as Record<string, unknown> | undefined;
  if (format.type !== "json_schema" || typeof spec !== "object" || spec === null) {
    throw refused(
      "response_format",
      "response_format must be text, json_object, or json_schema with a schema",
    );
  }
  dropUnknown(format, ["type", "json_schema"], "response_format", fields);
  dropUnknown(spec, OF_JSON_SCHEMA, "response_format.json_schema", fields);
  const schema = spec.schema ?? {};
  if (typeof schema !== "object" || Array.isArray(schema)) {
    throw refused("response_format.json_schema.schema", "The schema must be a JSON Schema object");
  }
  return {
    kind: "schema",
    name: typeof spec.name === "string" ? spec.name : "answer",
    description: typeof spec.description === "string" ? spec.description : undefined,
    schema: schema as Record<string, unknown>,
    strict: spec.strict === true,
  };
}

/** A tool in OpenAI's form, for upstreams that take it nearly so. */
export function functionTool({
  name,
  description,
  parameters = { type: "object", properties: {} },
}: ToolSpec) {
  return { type: "function", function: { name, description, parameters } };
}

/** An instruction to answer in JSON, for formats that have no parameter for it. */
export function jsonInstruction(format: ResponseFormat): string {
  if (format.kind === "json")
    return "Answer with one valid JSON object and nothing else: no prose, no code fence.";
  return `Answer with one JSON value that fits this JSON Schema, and nothing else: no prose, no code fence.\n${stringifyExact(format.schema)}`;
}

const EFFORTS = ["none", "minimal", "low", "medium", "high", "xhigh", "max"] as const;
/** Efforts of reasoning, weakest first. */
export type Effort = (typeof EFFORTS)[number];

/** `reasoning_effort`, or `reasoning.effort`. */
export function readEffort(fields: Fields): Effort | undefined {
  const nested = fields.object("reasoning");
  const value = fields.take("reasoning_effort") ?? nested?.effort ?? undefined;
  if (value === undefined) return undefined;
  const effort = EFFORTS.find((one) => one === value);
  if (effort === undefined)
    throw refused("reasoning_effort", `reasoning_effort must be one of ${EFFORTS.join(", ")}`);
  return effort;
}
