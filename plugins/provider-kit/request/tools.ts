/** Reads `tools`, `tool_choice`, `response_format` and `reasoning_effort` of a request in OpenAI's form. */
import { stringifyExact } from "../json/exact-json.ts";
import type { Fields, RequestLike } from "./fields.ts";
import { refused } from "./fields.ts";
import { unknownMembers } from "./unread-members.ts";

interface ToolSpec {
  name: string;
  description?: string;
  /** A JSON Schema; absent if the tool has no parameters. */
  parameters?: Record<string, unknown>;
  strict: boolean;
  /** Anthropic's cache mark. */
  cache?: unknown;
  /** The place in the request, such as `tools[0]`. */
  path: string;
}

type ToolChoice =
  | { kind: "auto" }
  | { kind: "none" }
  | { kind: "required" }
  | { kind: "named"; name: string };

/** The tools of a request, and the choice among them. */
export interface ToolUse {
  /** The tools that the choice allows; empty if the request has none. */
  tools: ToolSpec[];
  /** Undefined if the request has none, which means `auto`. */
  choice: ToolChoice | undefined;
}

/** Throws `invalid_request_error` (400) with `param` for tools and choices that only OpenAI has. */
export function readTools(request: RequestLike, fields?: Pick<Fields, "drop">): ToolUse {
  const list = request.tools ?? [];
  if (!Array.isArray(list)) throw refused("tools", "`tools` must be a list");
  const tools = list.map((tool, i) => readTool(tool, i, fields));
  const value = request.tool_choice ?? undefined;
  if (value === undefined) return { tools, choice: undefined };
  if (value === "none" || value === "auto") return { tools, choice: { kind: value } };
  if (tools.length === 0) throw refused("tool_choice", "`tool_choice` needs `tools`");
  if (value === "required" || value === "any") return { tools, choice: { kind: "required" } };
  const use = typeof value === "object" ? readObjectChoice(value, tools, fields) : undefined;
  if (use !== undefined) return use;
  throw refused(
    "tool_choice",
    "`tool_choice` must be none, auto, required, a function, or allowed_tools",
  );
}

/** Reads a `tool_choice` that is an object; undefined for an unknown type. */
function readObjectChoice(
  value: object,
  tools: ToolSpec[],
  fields: Pick<Fields, "drop"> | undefined,
): ToolUse | undefined {
  const choice = value as {
    type?: unknown;
    function?: { name?: unknown };
    allowed_tools?: unknown;
  };
  dropUnknown(choice, CHOICE_MEMBERS, "tool_choice", fields);
  if (choice.type === "allowed_tools")
    return readAllowedTools(choice.allowed_tools ?? choice, tools);
  if (choice.type !== "function") return undefined;
  const toolNames = new Set(tools.map((tool) => tool.name));
  const path = "tool_choice.function.name";
  const name = requireToolName(choice.function?.name, toolNames, path);
  return { tools, choice: { kind: "named", name } };
}

const CHOICE_MEMBERS = ["type", "function", "allowed_tools", "mode", "tools"];
const TOOL_MEMBERS = ["type", "function", "cache_control"];
const FUNCTION_MEMBERS = ["name", "description", "parameters", "strict", "cache_control"];

function readTool(value: unknown, i: number, fields: Pick<Fields, "drop"> | undefined): ToolSpec {
  const path = `tools[${i}]`;
  const tool = value as {
    type?: unknown;
    function?: Record<string, unknown>;
    cache_control?: unknown;
  } | null;
  if (typeof tool !== "object" || tool === null)
    throw refused(path, `\`${path}\` must be an object`);
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
  dropUnknown(tool, TOOL_MEMBERS, path, fields);
  dropUnknown(fn, FUNCTION_MEMBERS, `${path}.function`, fields);
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
  knownNames: readonly string[],
  path: string,
  fields: Pick<Fields, "drop"> | undefined,
): void {
  for (const unknown of unknownMembers(object, knownNames, path)) fields?.drop(unknown);
}

function readAllowedTools(value: unknown, tools: ToolSpec[]): ToolUse {
  const path = "tool_choice.allowed_tools";
  const { mode, tools: allowedTools } = value as { mode?: unknown; tools?: unknown };
  if ((mode !== "auto" && mode !== "required") || !Array.isArray(allowedTools)) {
    throw refused(path, "`allowed_tools` needs a `mode` (auto or required) and a list of `tools`");
  }
  const toolNames = new Set(tools.map((tool) => tool.name));
  const allowedNames = new Set(
    allowedTools.map((tool: { function?: { name?: unknown }; name?: unknown } | null, i) =>
      requireToolName(tool?.function?.name ?? tool?.name, toolNames, `${path}.tools[${i}]`),
    ),
  );
  return { tools: tools.filter((tool) => allowedNames.has(tool.name)), choice: { kind: mode } };
}

function requireToolName(name: unknown, toolNames: ReadonlySet<string>, path: string): string {
  if (typeof name === "string" && toolNames.has(name)) return name;
  throw refused(
    path,
    `\`tool_choice\` names a tool that is not in \`tools\`: ${JSON.stringify(name)}`,
  );
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

const JSON_SCHEMA_MEMBERS = ["name", "description", "schema", "strict"];

/** Reads `response_format`; undefined for plain text. */
export function readResponseFormat(fields: Fields): ResponseFormat | undefined {
  const format = fields.object("response_format");
  if (format === undefined || format.type === "text") return undefined;
  if (format.type === "json_object") return { kind: "json" };
  const spec = format.json_schema as Record<string, unknown> | undefined;
  if (format.type !== "json_schema" || typeof spec !== "object" || spec === null) {
    throw refused(
      "response_format",
      "`response_format` must be text, json_object, or json_schema with a schema",
    );
  }
  dropUnknown(format, ["type", "json_schema"], "response_format", fields);
  dropUnknown(spec, JSON_SCHEMA_MEMBERS, "response_format.json_schema", fields);
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

/** Returns a tool in OpenAI's form, for upstreams whose form is nearly the same. */
export function functionTool({
  name,
  description,
  parameters = { type: "object", properties: {} },
}: ToolSpec) {
  return { type: "function", function: { name, description, parameters } };
}

/** Returns an instruction to respond with JSON, for formats that have no parameter for it. */
export function jsonInstruction(format: ResponseFormat): string {
  if (format.kind === "json")
    return "Answer with one valid JSON object and nothing else: no prose, no code fence.";
  return `Answer with one JSON value that fits this JSON Schema, and nothing else: no prose, no code fence.\n${stringifyExact(format.schema)}`;
}

const EFFORTS = ["none", "minimal", "low", "medium", "high", "xhigh", "max"] as const;
/** Efforts of reasoning, weakest first. */
export type Effort = (typeof EFFORTS)[number];

/** Reads `reasoning_effort`, or `reasoning.effort`. */
export function readEffort(fields: Fields): Effort | undefined {
  const nested = fields.object("reasoning");
  const value = fields.take("reasoning_effort") ?? nested?.effort ?? undefined;
  if (value === undefined) return undefined;
  const effort = EFFORTS.find((name) => name === value);
  if (effort === undefined)
    throw refused("reasoning_effort", `\`reasoning_effort\` must be one of ${EFFORTS.join(", ")}`);
  return effort;
}
