/** Translates a request with its whole conversation into chat's form. */
import {
  type ChatMessage,
  type ChatTool,
  type JsonObject,
  optionalBoolean,
  withSource,
} from "portico/provider";
import { readItems } from "./items.ts";
import type { Reading } from "./reading.ts";
import { readToolChoice } from "./tools/tool-choice.ts";
import { readTools, type ToolList, type ToolTable } from "./tools/tool-table.ts";

export interface Conversation {
  instructions: string | undefined;
  /** Items of the responses that this one continues. */
  earlier: readonly JsonObject[];
  input: readonly JsonObject[];
}

export interface ReadConversation {
  messages: ChatMessage[];
  /** Members of the chat request about tools; empty if the model gets no tools. */
  toolMembers: { tools?: ChatTool[]; tool_choice?: unknown; parallel_tool_calls?: boolean };
  tools: ToolTable;
}

/** Translates the conversation. Throws 400 with `param` for a malformed item or tool. */
export function readConversation(
  body: JsonObject,
  conversation: Conversation,
  reading: Reading,
): ReadConversation {
  const { instructions, earlier, input } = conversation;
  const items = [...earlier, ...input];
  const pathOf = (i: number) =>
    i < earlier.length ? `previous_response_id[${i}]` : `input[${i - earlier.length}]`;
  const tools = readTools(toolLists(body, items, pathOf), reading);
  const choice = readToolChoice(body.tool_choice, tools, reading);
  const parallel = optionalBoolean(body.parallel_tool_calls, "parallel_tool_calls");
  const messages = readItems(items, { pathOf, tools, reading });
  if (instructions !== undefined) messages.unshift(instructionsMessage(instructions));
  if (messages.length === 0) reading.refuse("input", "`input` contains nothing to respond to");
  // A channel that speaks the format may understand the items.
  if (messages.length === 0) messages.push({ role: "user", content: "" });
  const functions = tools.functions;
  const toolMembers =
    functions.length === 0
      ? {}
      : { tools: functions, tool_choice: choice, parallel_tool_calls: parallel };
  return { messages, toolMembers, tools };
}

function instructionsMessage(content: string): ChatMessage {
  return withSource({ role: "system", content }, "instructions", { content: "instructions" });
}

/** Returns the tools of the request itself, and those that items add. */
function toolLists(
  body: JsonObject,
  items: readonly JsonObject[],
  pathOf: (index: number) => string,
): ToolList[] {
  const requestTools =
    body.tools == null ? [] : [{ tools: body.tools, path: "tools", isLoaded: false }];
  const addedTools = items.flatMap(({ type, tools }, i) =>
    type === "additional_tools" || (type === "tool_search_output" && tools != null)
      ? [{ tools, path: `${pathOf(i)}.tools`, isLoaded: true }]
      : [],
  );
  return [...requestTools, ...addedTools];
}
