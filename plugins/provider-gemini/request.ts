import {
  type BlockOptions,
  type ChatRequest,
  type Fields,
  filled,
  filledObject,
  fitToolNames,
  type GeminiModel,
  geminiModel,
  jsonInstruction,
  onlyOneChoice,
  originOf,
  postJson,
  readConversation,
  readFields,
  readResponseFormat,
  readTools,
  type ResponseFormat,
  type Target,
  type ToolUse,
  wantsUsage,
  type WireRequest,
} from "portico/provider";
import { headersFor, methodUrl } from "./address.ts";
import { encodeTurns } from "./contents.ts";
import { encodeThinking, INCLUDE_THOUGHTS } from "./thinking.ts";

/** The facts about a request that `decode` and `parts` need. */
export interface Sent extends BlockOptions {
  includeUsage: boolean;
}

/** The names that both AI Studio and Vertex AI allow. Their lists of further characters differ. */
const TOOL_NAME = /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/;

/** Encodes the `generateContent` request. Throws 400 with `param` for values that it cannot express. */
export async function encodeGenerate(chat: ChatRequest, target: Target): Promise<WireRequest> {
  const { request, names } = fitToolNames(chat, TOOL_NAME);
  const fields = readFields(request);
  const model = geminiModel(target.model);
  const origin = originOf(target);
  onlyOneChoice(fields);

  const conversation = readConversation(request.messages);
  for (const path of conversation.dropped) fields.drop(path);
  const { system, contents } = await encodeTurns(conversation.turns, target, model, origin);
  const use = readTools(request, fields);
  if (fields.boolean("parallel_tool_calls") === false && use.tools.length > 0)
    fields.drop("parallel_tool_calls");
  const format = readResponseFormat(fields);
  const json = encodeFormat(format, use, model, fields, system);
  const thinkingConfig = encodeThinking(fields, model, target.bare);
  const isAdded = thinkingConfig?.includeThoughts === true && chat["thinking_config"] == null;
  const body = {
    systemInstruction: system.length > 0 ? { parts: system.map((text) => ({ text })) } : undefined,
    contents,
    ...encodeTools(use, fields),
    safetySettings: fields.take("safety_settings") ?? fields.take("safetySettings"),
    cachedContent: fields.string("cached_content"),
    generationConfig: filledObject({
      ...encodeGeneration(fields),
      ...json,
      thinkingConfig,
    }),
  };
  const state: Sent = { includeUsage: wantsUsage(request), origin, names };
  const method = request.stream === true ? "streamGenerateContent?alt=sse" : "generateContent";
  const call = postJson(methodUrl(target, method), headersFor(target), body, { fields, state });
  return { ...call, additions: isAdded ? [INCLUDE_THOUGHTS] : [] };
}

function encodeGeneration(fields: Fields): Record<string, unknown> {
  return {
    temperature: fields.number("temperature"),
    topP: fields.number("top_p"),
    topK: fields.number("top_k"),
    maxOutputTokens: fields.maxTokens(),
    stopSequences: filled(fields.stops()),
    seed: fields.number("seed"),
    presencePenalty: fields.number("presence_penalty"),
    frequencyPenalty: fields.number("frequency_penalty"),
  };
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
    const parametersJsonSchema = hasProperties(tool.parameters) ? tool.parameters : undefined;
    return { name: tool.name, description: tool.description, parametersJsonSchema };
  });
  const tools = [{ functionDeclarations }];
  const choice = use.choice;
  if (choice === undefined) return { tools };
  const mode = { auto: "AUTO", none: "NONE", required: "ANY", named: "ANY" }[choice.kind];
  const names = choice.kind === "named" ? { allowedFunctionNames: [choice.name] } : {};
  return { tools, toolConfig: { functionCallingConfig: { mode, ...names } } };
}

/** False for an object schema without properties. Gemini refuses it, so such a tool is declared without parameters. */
function hasProperties(schema: Record<string, unknown> | undefined): boolean {
  if (schema === undefined) return false;
  const { type, properties, ...rest } = schema;
  const isEmpty =
    typeof properties !== "object" || properties === null || Object.keys(properties).length === 0;
  const hasAlternatives = ["$ref", "anyOf", "allOf", "oneOf", "patternProperties"].some(
    (key) => key in rest,
  );
  const hasMap = typeof rest.additionalProperties === "object";
  return type !== "object" || !isEmpty || hasAlternatives || hasMap;
}
