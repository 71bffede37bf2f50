/** Members of a request that its translation into chat's form does not read, at every depth below the top. */
import { isObject, type JsonObject, pathsInList, unknownMembers } from "portico/provider";

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
  const { input, tools, reasoning, text, tool_choice: choice } = body;
  const format = isObject(text) ? text["format"] : undefined;
  return [
    ...pathsInList(input, "input", unreadInItem),
    ...pathsInList(tools, "tools", unreadInTool),
    ...unknownMembers(reasoning, ["effort", "summary", "generate_summary"], "reasoning"),
    ...unknownMembers(text, ["format", "verbosity"], "text"),
    ...unknownMembers(format, OF_FORMATS, "text.format"),
    ...unknownMembers(choice, ["type", "name", "mode", "tools"], "tool_choice"),
  ];
}

function unreadInItem(item: JsonObject, path: string): string[] {
  const known = OF_ITEMS[String(item.type ?? "message")];
  return [
    ...(known === undefined ? [] : unknownMembers(item, known, path)),
    ...pathsInList(item.content, `${path}.content`, unreadInPart),
    ...pathsInList(item.output, `${path}.output`, unreadInPart),
  ];
}

function unreadInPart(part: JsonObject, path: string): string[] {
  const known = OF_PARTS[String(part.type)];
  return known === undefined ? [] : unknownMembers(part, known, path);
}

function unreadInTool(tool: JsonObject, path: string): string[] {
  const known = OF_TOOLS[String(tool.type)];
  if (known === undefined) return [];
  const own = unknownMembers(tool, known, path);
  if (tool.type !== "namespace") return own;
  return [...own, ...pathsInList(tool.tools, `${path}.tools`, unreadInTool)];
}
