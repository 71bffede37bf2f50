/** The members of a request that its translation into chat's form reads. `x-portico-dropped` names all others. */
import type { JsonObject, ReadMembers, ReadObject } from "portico/provider";

const CALL_MEMBERS = ["type", "id", "call_id", "status"];
/** Members of items by type. Items of other types are refused, or reported as dropped as a whole. */
const ITEMS: Readonly<Record<string, ReadObject>> = {
  message: {
    members: ["type", "id", "role", "content", "status", "phase"],
    within: { content: partOf },
  },
  function_call: { members: [...CALL_MEMBERS, "name", "namespace", "arguments"] },
  function_call_output: { members: [...CALL_MEMBERS, "output"], within: { output: partOf } },
  custom_tool_call: { members: [...CALL_MEMBERS, "name", "namespace", "input"] },
  custom_tool_call_output: { members: [...CALL_MEMBERS, "output"], within: { output: partOf } },
};
const PARTS: Readonly<Record<string, ReadObject>> = {
  input_text: { members: ["type", "text"] },
  output_text: { members: ["type", "text", "annotations", "logprobs"] },
  text: { members: ["type", "text"] },
  refusal: { members: ["type", "refusal"] },
  input_image: { members: ["type", "image_url", "detail"] },
  input_file: { members: ["type", "filename", "file_data"] },
  input_audio: { members: ["type", "input_audio"] },
};
const TOOL_MEMBERS = ["type", "name", "description", "defer_loading"];
const TOOLS: Readonly<Record<string, ReadObject>> = {
  function: { members: [...TOOL_MEMBERS, "parameters", "strict"] },
  custom: { members: [...TOOL_MEMBERS, "format"] },
  namespace: { members: [...TOOL_MEMBERS, "tools"], within: { tools: toolOf } },
};

export const READ_MEMBERS: ReadMembers = {
  input: ({ type }) => ITEMS[String(type ?? "message")],
  tools: toolOf,
  reasoning: { members: ["effort", "summary", "generate_summary"] },
  text: {
    members: ["format", "verbosity"],
    within: { format: { members: ["type", "name", "description", "schema", "strict"] } },
  },
  tool_choice: { members: ["type", "name", "mode", "tools"] },
};

function partOf({ type }: JsonObject): ReadObject | undefined {
  return PARTS[String(type)];
}

function toolOf({ type }: JsonObject): ReadObject | undefined {
  return TOOLS[String(type)];
}
