/** Members of a request that its translation into OpenAI's form does not read, at every depth below the top. */
import { isObject, type JsonObject } from "portico/provider";

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
export function unreadMembers(body: JsonObject): string[] {
  const paths: string[] = [];
  eachIn(body.system, "system", (block, path) => readBlock(block, path, paths));
  eachIn(body.messages, "messages", (message, path) => {
    collect(message, OF_MESSAGES, path, paths);
    eachIn(message.content, `${path}.content`, (block, at) => readBlock(block, at, paths));
  });
  eachIn(body.tools, "tools", (tool, path) => {
    if (tool.type === undefined || tool.type === "custom") collect(tool, OF_TOOLS, path, paths);
  });
  return paths;
}

function readBlock(block: JsonObject, path: string, paths: string[]): void {
  const known = OF_BLOCKS[String(block.type)];
  // A channel that speaks another format refuses blocks of other types.
  if (known === undefined) return;
  collect(block, known, path, paths);
  if (block.type === "tool_result")
    eachIn(block.content, `${path}.content`, (part, at) => readBlock(part, at, paths));
}

function collect(
  object: JsonObject,
  known: readonly string[],
  path: string,
  paths: string[],
): void {
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
