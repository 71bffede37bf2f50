/** Determines echo's response to a request. */
import {
  type ChatMessage,
  type ChatRequest,
  refused,
  type Target,
  type ToolCallPart,
} from "portico/provider";
import { checkRequest } from "./check.ts";

/** Returns the smallest value that a schema accepts. `param` is the schema's path in the request. */
export type MakeValue = (schema: unknown, param: string) => unknown;

/** The content of a response: a text or a call. */
export interface EchoResponse {
  text?: string;
  call?: ToolCallPart;
}

/**
 * Returns the result of a tool; otherwise a call, if one is forced or the message names a tool; otherwise JSON, if the
 * request asks for it; otherwise the last user message.
 */
export function respond(request: ChatRequest, target: Target, makeValue: MakeValue): EchoResponse {
  checkRequest(request);
  const last = request.messages[request.messages.length - 1];
  if (last?.role === "tool" || last?.role === "function")
    return { text: requireRepeatable(textOf(last), request) };
  const text = textOf(request.messages.findLast((message) => message.role === "user") ?? last);
  const tool = toolToCall(request, text);
  if (tool !== undefined) {
    const path = `tools[${request.tools?.indexOf(tool)}].function.parameters`;
    const args = JSON.stringify(makeValue(tool.function?.parameters ?? {}, path));
    const id = `call_${target.id.replace(/^chatcmpl-/, "")}`;
    return {
      call: {
        index: 0,
        id,
        type: "function",
        function: { name: tool.function?.name ?? "", arguments: args },
      },
    };
  }
  const format = request["response_format"] as
    | { type?: string; json_schema?: { schema?: Record<string, unknown> } }
    | null
    | undefined;
  if (format?.type === "json_schema")
    return {
      text: JSON.stringify(
        makeValue(format.json_schema?.schema ?? {}, "response_format.json_schema.schema"),
      ),
    };
  if (format?.type === "json_object") return { text: "{}" };
  return { text: requireRepeatable(text, request) };
}

/** The limit for the characters of all choices together. */
const MAX_LENGTH = 16 * 1024 * 1024;

function requireRepeatable(text: string, request: ChatRequest): string {
  const n = choiceCount(request);
  if (n > 1 && n * text.length > MAX_LENGTH)
    throw refused("n", "The message is too long to be repeated that often");
  return text;
}

type Tool = NonNullable<ChatRequest["tools"]>[number];
type Choice =
  | string
  | {
      type?: string;
      function?: { name?: string };
      allowed_tools?: { mode?: string; tools?: { function?: { name?: string } }[] };
    }
  | null
  | undefined;

function toolToCall(request: ChatRequest, text: string): Tool | undefined {
  const choice = request["tool_choice"] as Choice;
  if (choice === "none") return undefined;
  let tools = (request.tools ?? []).filter((tool) => tool.type === "function");
  let isForced = choice === "required" || choice === "any";
  if (typeof choice === "object" && choice !== null) {
    if (choice.type === "function")
      return tools.find((tool) => tool.function?.name === choice.function?.name);
    const allowed = choice.allowed_tools;
    if (allowed?.tools !== undefined) {
      const names = new Set(allowed.tools.map((tool) => tool.function?.name));
      tools = tools.filter((tool) => names.has(tool.function?.name));
      isForced = allowed.mode === "required";
    }
  }
  const start = text.slice(0, SEARCHED_CHARACTERS);
  return (
    tools.slice(0, SEARCHED_TOOLS).find((tool) => containsName(start, tool.function?.name ?? "")) ??
    (isForced ? tools[0] : undefined)
  );
}

/** The limits of the search for a name: characters of the message, and tools. */
const SEARCHED_CHARACTERS = 32_768;
const SEARCHED_TOOLS = 256;

/** True if the text contains the name as a separate word, in any case. */
function containsName(text: string, name: string): boolean {
  if (name === "" || name.length > text.length) return false;
  const escaped = name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  return new RegExp(`(?<![\\w-])${escaped}(?![\\w-])`, "i").test(text);
}

export function textOf(message: ChatMessage | undefined): string {
  const content = message?.content;
  if (typeof content === "string") return content;
  return (content ?? [])
    .flatMap((part) => (typeof part.text === "string" ? [part.text] : []))
    .join("\n");
}

export function choiceCount(request: ChatRequest): number {
  return typeof request["n"] === "number" ? request["n"] : 1;
}
