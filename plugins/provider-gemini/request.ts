import {
  type ChatRequest,
  type Fields,
  type GeminiModel,
  geminiModel,
  jsonInstruction,
  originOf,
  readConversation,
  readFields,
  readResponseFormat,
  readTools,
  refused,
  type ResponseFormat,
  type Target,
  type ToolUse,
  wantsUsage,
  type WireRequest,
} from "portico/chat";
import { headersFor, methodUrl } from "./address.ts";
import { encodeTurns } from "./contents.ts";
import { encodeThinking } from "./thinking.ts";

/** What `decode` and `decoder` remember of the request. */
export interface Sent {
  includeUsage: boolean;
  /** For whom the signatures of the answer's calls are good. */
  origin: string;
  /** Several answers were asked for: their texts arrive mixed. */
  many: boolean;
}

/** The `generateContent` request. Throws 400 with `param` for what it cannot express. */
export async function encodeGenerate(request: ChatRequest, target: Target): Promise<WireRequest> {
  const fields = readFields(request);
  const model = geminiModel(target.model);
  const origin = originOf(target);
  const n = fields.number("n") ?? 1;
  if (!Number.isInteger(n) || n < 1) throw refused("n", "n must be a whole number from 1");

  const conversation = readConversation(request.messages);
  for (const path of conversation.dropped) fields.drop(path);
  const { system, contents } = await encodeTurns(conversation.turns, target, model, origin);
  const use = readTools(request);
  if (fields.boolean("parallel_tool_calls") === false && use.tools.length > 0) fields.drop("parallel_tool_calls");
  const format = readResponseFormat(fields);
  const json = encodeFormat(format, use, model, fields, system);
  const safety = fields.take("safety_settings") ?? fields.take("safetySettings");
  const cached = fields.string("cached_content");
  const generation = { ...encodeGeneration(fields), ...(n > 1 && { candidateCount: n }), ...json };
  const thinking = encodeThinking(fields, model);
  if (thinking !== undefined) Object.assign(generation, { thinkingConfig: thinking });

  const body = {
    ...(system.length > 0 && { systemInstruction: { parts: system.map((text) => ({ text })) } }),
    contents,
    ...encodeTools(use, fields),
    ...(safety !== undefined && { safetySettings: safety }),
    ...(cached !== undefined && { cachedContent: cached }),
    ...(Object.keys(generation).length > 0 && { generationConfig: generation }),
  };
  const state: Sent = { includeUsage: wantsUsage(request), origin, many: n > 1 };
  const method = request.stream === true ? "streamGenerateContent?alt=sse" : "generateContent";
  return {
    method: "POST",
    url: methodUrl(target, method),
    headers: { ...headersFor(target), "content-type": "application/json" },
    body: JSON.stringify(body),
    dropped: fields.dropped(),
    state,
  };
}

function encodeGeneration(fields: Fields): Record<string, unknown> {
  const stops = fields.stops();
  const all = {
    temperature: fields.number("temperature"),
    topP: fields.number("top_p"),
    topK: fields.number("top_k"),
    maxOutputTokens: fields.maxTokens(),
    stopSequences: stops.length > 0 ? stops : undefined,
    seed: fields.number("seed"),
    presencePenalty: fields.number("presence_penalty"),
    frequencyPenalty: fields.number("frequency_penalty"),
  };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
}

function encodeFormat(
  format: ResponseFormat | undefined,
  use: ToolUse,
  model: GeminiModel,
  fields: Fields,
  system: string[],
): Record<string, unknown> {
  if (format === undefined) return {};
  if (use.tools.length > 0 && !model.toolsWithJson) {
    system.push(jsonInstruction(format));
    fields.drop("response_format");
    return {};
  }
  const type = { responseMimeType: "application/json" };
  return format.kind === "schema" ? { ...type, responseJsonSchema: format.schema } : type;
}

function encodeTools(use: ToolUse, fields: Fields): Record<string, unknown> {
  if (use.tools.length === 0) return {};
  const functionDeclarations = use.tools.map((tool) => {
    if (tool.strict) fields.drop(`${tool.path}.function.strict`);
    return {
      name: tool.name,
      ...(tool.description !== undefined && { description: tool.description }),
      ...(hasProperties(tool.parameters) && { parametersJsonSchema: tool.parameters }),
    };
  });
  const tools = [{ functionDeclarations }];
  const choice = use.choice;
  if (choice === undefined) return { tools };
  const mode = { auto: "AUTO", none: "NONE", required: "ANY", named: "ANY" }[choice.kind];
  const names = choice.kind === "named" ? { allowedFunctionNames: [choice.name] } : {};
  return { tools, toolConfig: { functionCallingConfig: { mode, ...names } } };
}

/** An object schema without properties is refused: such a tool is declared without parameters. */
function hasProperties(schema: Record<string, unknown> | undefined): boolean {
  if (schema === undefined) return false;
  const { type, properties, ...rest } = schema;
  const empty = typeof properties !== "object" || properties === null || Object.keys(properties).length === 0;
  const open = ["$ref", "anyOf", "allOf", "oneOf", "patternProperties"].some((key) => key in rest);
  const map = typeof rest.additionalProperties === "object";
  return type !== "object" || !empty || open || map;
}
