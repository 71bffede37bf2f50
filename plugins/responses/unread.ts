/** Members of a request that its translation into chat's form does not read, at every depth below the top. */
import { isObject, type JsonObject } from "portico/provider";

const OF_CALLS = ["type", "id", "call_id", "status"];
/** Items of other types are refused, or dropped and named as a whole. */
const OF_ITEMS: Readonly<Record<string, readonly string[]>> = {
  message: ["type", "id", "role", "content", "status", "phase"],
  function_call: [...OF_CALLS, "name", "namespace", "arguments"],
  function_call_output: [...OF_CALLS, "output"],
  custom_tool_call: [...OF_CALLS, "name", "namespace", "input"],
  custom_tool_call_output: [...OF_CALLS, "output"],
};
const OF_PARTS: Readonly<Record<string, readonly string[]>> = {
  input_text: ["type", "text"],
  output_text: ["type", "text", "annotations", "logprobs"],
  text: ["type", "text"],
  refusal: ["type", "refusal"],
  input_image: ["type", "image_url", "detail"],
  input_file: ["type", "filename", "file_data"],
  input_audio: ["type", "input_audio"],
};
const OF_NAMED_TOOLS = ["type", "name", "description", "defer_loading"];
const OF_TOOLS: Readonly<Record<string, readonly string[]>> = {
  function: [...OF_NAMED_TOOLS, "parameters", "strict"],
  custom: [...OF_NAMED_TOOLS, "format"],
  namespace: [...OF_NAMED_TOOLS, "tools"],
};
const OF_FORMATS = ["type", "name", "description", "schema", "strict"];

/** Their paths, for `x-portico-dropped`. */
export function unreadMembers(body: JsonObject): string[] {
  const paths: string[] = [];
  eachIn(body.input, "input", (item, path) => readItem(item, path, paths));
  eachIn(body.tools, "tools", (tool, path) => readTool(tool, path, paths));
  collect(body.reasoning, ["effort", "summary", "generate_summary"], "reasoning", paths);
  collect(body.text, ["format", "verbosity"], "text", paths);
  if (isObject(body.text)) collect(body.text["format"], OF_FORMATS, "text.format", paths);
  collect(body.tool_choice, ["type", "name", "mode", "tools"], "tool_choice", paths);
  return paths;
}

function readItem(item: JsonObject, path: string, paths: string[]): void {
  const type = item.type ?? "message";
  collect(item, OF_ITEMS[String(type)], path, paths);
  for (const list of ["content", "output"])
    eachIn(item[list], `${path}.${list}`, (part, at) =>
      collect(part, OF_PARTS[String(part.type)], at, paths),
    );
}

function readTool(tool: JsonObject, path: string, paths: string[]): void {
  collect(tool, OF_TOOLS[String(tool.type)], path, paths);
  if (tool.type === "namespace")
    eachIn(tool.tools, `${path}.tools`, (inner, at) => readTool(inner, at, paths));
}

/** `known`: absent for an object of an unknown type. */
function collect(
  object: unknown,
  known: readonly string[] | undefined,
  path: string,
  paths: string[],
): void {
  if (known === undefined || !isObject(object)) return;
  for (const [name, value] of Object.entries(object))
    if (value != null && !known.includes(name)) paths.push(`${path}.${name}`);
}

function eachIn(
  list: unknown,
  path: string,
  visit: (object: JsonObject, path: string) => void,
): void {
  if (!Array.isArray(list)) return;
  for (const [i, item] of list.entries()) if (isObject(item)) visit(item, `${path}[${i}]`);
}
