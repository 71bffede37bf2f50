/** Members of a request that its translation into OpenAI's form does not read, at every depth below the top. */
import { type JsonObject, pathsInList, unknownMembers } from "portico/provider";

const OF_MESSAGES = ["role", "content"];
const OF_TOOLS = ["type", "name", "description", "input_schema", "strict", "cache_control"];
const OF_BLOCKS: Readonly<Record<string, readonly string[]>> = {
  text: ["type", "text", "cache_control"],
  image: ["type", "source", "cache_control"],
  document: ["type", "source", "title", "cache_control"],
  tool_use: ["type", "id", "name", "input", "cache_control", "caller"],
  tool_result: ["type", "tool_use_id", "content", "is_error", "cache_control"],
  thinking: ["type", "thinking", "signature"],
  redacted_thinking: ["type", "data"],
};

/** Their paths, for `x-portico-dropped`. */
export function unreadMembers({ system, messages, tools }: JsonObject): string[] {
  return [
    ...pathsInList(system, "system", unreadInBlock),
    ...pathsInList(messages, "messages", unreadInMessage),
    ...pathsInList(tools, "tools", unreadInTool),
  ];
}

function unreadInMessage(message: JsonObject, path: string): string[] {
  return [
    ...unknownMembers(message, OF_MESSAGES, path),
    ...pathsInList(message.content, `${path}.content`, unreadInBlock),
  ];
}

/** A channel that speaks another format refuses tools of other types. */
function unreadInTool(tool: JsonObject, path: string): string[] {
  const isOwn = tool.type === undefined || tool.type === "custom";
  return isOwn ? unknownMembers(tool, OF_TOOLS, path) : [];
}

function unreadInBlock(block: JsonObject, path: string): string[] {
  const known = OF_BLOCKS[String(block.type)];
  // A channel that speaks another format refuses blocks of other types.
  if (known === undefined) return [];
  const own = unknownMembers(block, known, path);
  if (block.type !== "tool_result") return own;
  return [...own, ...pathsInList(block.content, `${path}.content`, unreadInBlock)];
}
