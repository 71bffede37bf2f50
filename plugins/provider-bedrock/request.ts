import {
  alternate,
  type ChatRequest,
  type ClaudeModel,
  claudeModel,
  claudeSampling,
  claudeStops,
  claudeThinking,
  type Fields,
  isClaude,
  jsonInstruction,
  onlyOneChoice,
  originOf,
  readConversation,
  readEffort,
  readFields,
  readResponseFormat,
  readTools,
  strictSchema,
  type Target,
  type Turn,
  wantsUsage,
  type WireRequest,
} from "portico/chat";
import type { Surroundings } from "./address.ts";
import { authorize, methodUrl } from "./address.ts";
import { encodeTurns } from "./messages.ts";
import { encodeTools } from "./tools.ts";

/** What `decode` and `decoder` remember of the request. */
export interface Sent {
  includeUsage: boolean;
  /** For whom the signatures of the answer's reasoning are good. */
  origin: string;
}

/** Fields that only some models have, beside Converse's own. */
type Extra = Record<string, unknown>;

/** The Converse request, signed. Throws 400 with `param` for what it cannot express. */
export async function encodeConverse(
  request: ChatRequest,
  target: Target,
  surroundings: Surroundings,
): Promise<WireRequest> {
  const fields = readFields(request);
  onlyOneChoice(fields);
  const claude = isClaude(target.model) ? claudeModel(target.model) : undefined;
  const origin = originOf({ model: target.model });
  const conversation = readConversation(request.messages);
  for (const path of conversation.dropped) fields.drop(path);
  const { system, turns } = alternate(conversation.turns);
  const texts = system.map((part) => part.text);
  const { messages, hasThinking } = await encodeTurns(turns, target, origin);

  const extra: Extra = { ...fields.object("additionalModelRequestFields") };
  const output: Record<string, unknown> = {};
  encodeFormat(fields, claude, target.model, texts, output);
  const tools = encodeTools(readTools(request), calledIn(turns), fields, claude, extra);
  const last = turns.at(-1);
  const brokenLoop = last?.role === "user" && last.results.length > 0 && !hasThinking;
  const inference =
    claude === undefined
      ? encodePlain(fields, target.model, extra)
      : encodeClaude(fields, claude, extra, output, { forced: tools.forced, brokenLoop });
  const guardrail = fields.object("guardrailConfig") ?? fields.object("guardrail_config");
  const tier = encodeTier(fields);
  const metadata = encodeMetadata(fields);

  const body = JSON.stringify({
    messages,
    ...(texts.length > 0 && { system: texts.map((text) => ({ text })) }),
    ...(Object.keys(inference).length > 0 && { inferenceConfig: inference }),
    ...(tools.config !== undefined && { toolConfig: tools.config }),
    ...(Object.keys(output).length > 0 && { outputConfig: output }),
    ...(guardrail !== undefined && { guardrailConfig: guardrail }),
    ...(tier !== undefined && { serviceTier: { type: tier } }),
    ...(metadata !== undefined && { requestMetadata: metadata }),
    ...(Object.keys(extra).length > 0 && { additionalModelRequestFields: extra }),
  });
  const url = methodUrl(target, request.stream === true ? "converse-stream" : "converse", surroundings);
  const state: Sent = { includeUsage: wantsUsage(request), origin };
  return {
    method: "POST",
    url,
    headers: authorize("POST", url, body, target, surroundings),
    body,
    dropped: fields.dropped(),
    state,
  };
}

function calledIn(turns: readonly Turn[]): string[] {
  return turns.flatMap((turn) => (turn.role === "assistant" ? turn.calls.map((call) => call.name) : []));
}

function encodeClaude(
  fields: Fields,
  model: ClaudeModel,
  extra: Extra,
  output: Record<string, unknown>,
  request: { forced: boolean; brokenLoop: boolean },
): Record<string, unknown> {
  const asked = fields.maxTokens();
  const { thinking, effort } = claudeThinking(fields, model, asked ?? model.maxOutput, request);
  if (thinking !== undefined) extra.thinking = thinking;
  if (effort !== undefined) output.effort = effort;
  const { temperature, topP, topK } = claudeSampling(fields, model, thinking);
  if (topK !== undefined) extra.top_k = topK;
  const stopSequences = claudeStops(fields);
  // A budget must lie below the limit, which is low where none is named.
  const maxTokens = asked ?? (thinking?.budget_tokens === undefined ? undefined : model.maxOutput);
  return set({ maxTokens, temperature, topP, stopSequences: stopSequences.length > 0 ? stopSequences : undefined });
}

function encodePlain(fields: Fields, model: string, extra: Extra): Record<string, unknown> {
  const topK = fields.number("top_k");
  if (topK !== undefined) {
    if (/amazon\.nova/.test(model)) extra.inferenceConfig = { topK };
    else extra.top_k = topK;
  }
  const effort = readEffort(fields);
  if (effort !== undefined) {
    if (/gpt-oss/.test(model) && ["low", "medium", "high"].includes(effort)) extra.reasoning_effort = effort;
    else if (effort !== "none") fields.drop("reasoning_effort");
  }
  const stops = fields.stops();
  return set({
    maxTokens: fields.maxTokens(),
    temperature: fields.number("temperature"),
    topP: fields.number("top_p"),
    stopSequences: stops.length > 0 ? stops : undefined,
  });
}

/** Models that take no schema get an instruction. */
function encodeFormat(
  fields: Fields,
  claude: ClaudeModel | undefined,
  model: string,
  system: string[],
  output: Record<string, unknown>,
): void {
  const format = readResponseFormat(fields);
  if (format === undefined) return;
  const able = claude?.schemas ?? !/(amazon|meta|cohere|ai21)\./.test(model);
  if (format.kind === "json" || !able) {
    system.push(jsonInstruction(format));
    if (format.kind === "schema") fields.drop("response_format.json_schema");
    return;
  }
  const { name, description, schema } = format;
  const jsonSchema = {
    // Converse wants the schema as text.
    schema: JSON.stringify(claude === undefined ? schema : strictSchema(schema)),
    name,
    ...(description !== undefined && { description }),
  };
  output.textFormat = { type: "json_schema", structure: { jsonSchema } };
}

function encodeTier(fields: Fields): string | undefined {
  const tier = fields.string("service_tier");
  if (tier === undefined || tier === "auto") return undefined;
  if (["default", "priority", "flex"].includes(tier)) return tier;
  fields.drop("service_tier");
  return undefined;
}

/** `metadata` and the user's id, as far as their characters are allowed. */
function encodeMetadata(fields: Fields): Record<string, string> | undefined {
  const given: [string, unknown][] = Object.entries(fields.object("metadata") ?? {});
  const user = fields.string("safety_identifier") ?? fields.string("user");
  fields.take("user");
  if (user !== undefined) given.push(["user", user]);
  const allowed = /^[a-zA-Z0-9\s:_@$#=/+,\-.]{0,256}$/;
  const kept: [string, string][] = [];
  for (const [name, value] of given) {
    if (typeof value === "string" && allowed.test(value) && allowed.test(name)) kept.push([name, value]);
    else fields.drop(name === "user" ? "user" : `metadata.${name}`);
  }
  return kept.length > 0 ? Object.fromEntries(kept) : undefined;
}

function set(values: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));
}
