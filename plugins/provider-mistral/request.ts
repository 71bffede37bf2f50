import {
  bearerHeaders,
  type ChatRequest,
  type Fields,
  filled,
  fitToolNames,
  functionTool,
  type Part,
  postJson,
  readConversation,
  readEffort,
  readFields,
  readImage,
  readResponseFormat,
  readTools,
  refused,
  shortCallId,
  type Target,
  textOf,
  type ToolNames,
  type ToolUse,
  type Turn,
  wantsUsage,
  webImage,
  type WireRequest,
  stringifyExact,
} from "portico/provider";
import { ID_LENGTH } from "./rules.ts";

/** The facts about a request that `decode` and `parts` need. */
export interface Sent {
  includeUsage: boolean;
  names: ToolNames;
}

/** Encodes the chat completions request. Drops unknown fields, because Mistral refuses them. */
export async function encodeChat(chat: ChatRequest, target: Target): Promise<WireRequest> {
  const { request, names } = fitToolNames(chat);
  const fields = readFields(request);
  const conversation = readConversation(request.messages);
  for (const path of conversation.dropped) fields.drop(path);
  const messages: object[] = [];
  for (const turn of conversation.turns)
    for (const message of await encodeTurn(turn, target)) messages.push(message);
  const body = {
    model: target.model,
    messages,
    stream: request.stream === true || undefined,
    ...encodeSettings(fields),
    response_format: encodeFormat(fields),
    ...encodeTools(readTools(request, fields), fields),
  };
  const state: Sent = { includeUsage: wantsUsage(request), names };
  return postJson(`${target.baseUrl}/v1/chat/completions`, bearerHeaders(target), body, {
    fields,
    state,
  });
}

function encodeSettings(fields: Fields): Record<string, unknown> {
  const effort = readEffort(fields);
  return {
    temperature: fields.number("temperature"),
    top_p: fields.number("top_p"),
    max_tokens: fields.maxTokens(),
    stop: filled(fields.stops()),
    random_seed: fields.number("random_seed") ?? fields.number("seed"),
    presence_penalty: fields.number("presence_penalty"),
    frequency_penalty: fields.number("frequency_penalty"),
    n: fields.number("n"),
    reasoning_effort: effort === "max" ? "xhigh" : effort,
    prompt_mode: fields.string("prompt_mode"),
    safe_prompt: fields.boolean("safe_prompt"),
    prediction: fields.object("prediction"),
    metadata: fields.object("metadata"),
    prompt_cache_key: fields.string("prompt_cache_key"),
    guardrails: fields.take("guardrails"),
  };
}

function encodeFormat(fields: Fields): unknown {
  const format = readResponseFormat(fields);
  if (format === undefined) return undefined;
  if (format.kind === "json") return { type: "json_object" };
  const { name, description, schema, strict } = format;
  return { type: "json_schema", json_schema: { name, description, schema, strict } };
}

function encodeTools(use: ToolUse, fields: Fields): Record<string, unknown> {
  const parallel = fields.boolean("parallel_tool_calls");
  if (use.tools.length === 0) return {};
  const tools = use.tools.map((tool) => {
    const { type, function: fn } = functionTool(tool);
    return { type, function: { ...fn, strict: tool.strict || undefined } };
  });
  const choice = use.choice;
  return {
    tools,
    tool_choice: choice && encodeChoice(choice),
    parallel_tool_calls: parallel,
  };
}

function encodeChoice(choice: NonNullable<ToolUse["choice"]>): unknown {
  if (choice.kind === "named") return { type: "function", function: { name: choice.name } };
  return choice.kind === "required" ? "any" : choice.kind;
}

async function encodeTurn(turn: Turn, target: Target): Promise<Record<string, unknown>[]> {
  if (turn.role === "system") return [{ role: "system", content: textOf(turn.parts) }];
  if (turn.role === "assistant") {
    const text = textOf(turn.parts, "");
    const calls = turn.calls.map((call) => ({
      id: shortCallId(call.id, ID_LENGTH),
      type: "function",
      function: { name: call.name, arguments: stringifyExact(call.args) },
    }));
    const message = { role: "assistant", content: text, tool_calls: filled(calls) };
    return [{ ...message, prefix: turn.prefix }];
  }
  if (turn.results.length === 0)
    return [{ role: "user", content: await encodeParts(turn.parts, target) }];
  const results = [];
  for (const result of turn.results) {
    results.push({
      role: "tool",
      tool_call_id: shortCallId(result.callId, ID_LENGTH),
      name: result.name,
      content: await encodeParts(result.parts, target),
    });
  }
  return results;
}

async function encodeParts(parts: readonly Part[], target: Target): Promise<unknown> {
  if (parts.every((part) => part.kind === "text")) return textOf(parts);
  const encoded = [];
  for (const part of parts) encoded.push(await encodePart(part, target));
  return encoded;
}

async function encodePart(part: Part, target: Target): Promise<Record<string, unknown>> {
  switch (part.kind) {
    case "text":
      return { type: "text", text: part.text };
    case "image": {
      const url = webImage(part, target);
      if (url !== undefined) return { type: "image_url", image_url: url };
      const { mediaType, base64 } = await readImage(part, target);
      return { type: "image_url", image_url: `data:${mediaType};base64,${base64}` };
    }
    case "audio":
      return { type: "input_audio", input_audio: part.data };
    default:
      if (part.data === undefined || !part.data.startsWith("data:")) {
        const at = part.data === undefined ? "file_id" : "file_data";
        throw refused(`${part.path}.${at}`, "Send the file itself in `file_data`, as a data URL");
      }
      return { type: "document_url", document_url: part.data, document_name: part.filename };
  }
}
