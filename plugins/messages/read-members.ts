/** The members of a request that its translation into OpenAI's form reads. `x-portico-dropped` names all others. */
import type { JsonObject, ReadMembers, ReadObject } from "portico/provider";

const BLOCKS: Readonly<Record<string, ReadObject>> = {
  text: { members: ["type", "text", "cache_control"] },
  image: { members: ["type", "source", "cache_control"] },
  document: { members: ["type", "source", "title", "cache_control"] },
  tool_use: { members: ["type", "id", "name", "input", "cache_control", "caller"] },
  tool_result: {
    members: ["type", "tool_use_id", "content", "is_error", "cache_control"],
    within: { content: blockOf },
  },
  thinking: { members: ["type", "thinking", "signature"] },
  redacted_thinking: { members: ["type", "data"] },
};
const TOOL: ReadObject = {
  members: ["type", "name", "description", "input_schema", "strict", "cache_control"],
};

export const READ_MEMBERS: ReadMembers = {
  system: blockOf,
  messages: { members: ["role", "content"], within: { content: blockOf } },
  // A channel that speaks another format refuses tools of other types.
  tools: ({ type = "custom" }) => (type === "custom" ? TOOL : undefined),
};

/** A channel that speaks another format refuses blocks of other types. */
function blockOf({ type }: JsonObject): ReadObject | undefined {
  return BLOCKS[String(type)];
}
