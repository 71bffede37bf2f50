import {
  alternate,
  type BlockOptions,
  type ChatRequest,
  type ClaudeModel,
  claudeModel,
  claudeSampling,
  claudeStops,
  claudeThinking,
  type Fields,
  filled,
  filledObject,
  fitToolNames,
  isBrokenLoop,
  isClaude,
  jsonInstruction,
  onlyOneChoice,
  originOf,
  postJson,
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
  stringifyExact,
} from "portico/provider";
import type { Surroundings } from "./address.ts";
import { authorize, methodUrl } from "./address.ts";
import { type Block, encodeSystem, encodeTurns } from "./messages.ts";
import { encodeTools } from "./tools.ts";

/** The facts about a request that `decode` and `parts` need. */
export interface Sent extends BlockOptions {
  includeUsage: boolean;
}

/** Model-specific fields, which Converse accepts in `additionalModelRequestFields`. */
type Extra = Record<string, unknown>;

/** Encodes and signs the Converse request. Throws 400 with `param` for values that it cannot express. */
export async function encodeConverse(
  chat: ChatRequest,
  target: Target,
  surroundings: Surroundings,
): Promise<WireRequest> {
  const { request, names } = fitToolNames(chat);
  const fields = readFields(request);
  onlyOneChoice(fields);
  const claude = isClaude(target.model) ? claudeModel(target.model) : undefined;
  const origin = originOf({ model: target.model });
  const conversation = readConversation(request.messages);
  for (const path of conversation.dropped) fields.drop(path);
  const { system, turns } = alternate(conversation.turns);
  const systemBlocks = encodeSystem(system);
  const messages = await encodeTurns(turns, target, origin);

  const extra: Extra = { ...fields.object("additionalModelRequestFields") };
  const textFormat = encodeFormat(fields, claude, target.model, systemBlocks);
  const tools = encodeTools(readTools(request, fields), calledTools(turns), fields, claude, extra);
  const { inference, effort, added }: Settings =
    claude === undefined
      ? { inference: encodePlain(fields, target.model, extra) }
      : encodeClaude(fields, claude, extra, {
          forced: tools.forced,
          brokenLoop: isBrokenLoop(turns, origin),
          bare: target.bare,
        });
  const guardrail = fields.object("guardrailConfig") ?? fields.object("guardrail_config");
  const tier = encodeTier(fields);
  const metadata = encodeMetadata(fields);

  const body = {
    messages,
    system: filled(systemBlocks),
    inferenceConfig: filledObject(inference),
    toolConfig: tools.config,
    outputConfig: filledObject({ effort, textFormat }),
    guardrailConfig: guardrail,
    serviceTier: filledObject({ type: tier }),
    requestMetadata: metadata,
    additionalModelRequestFields: filledObject(extra),
  };
  const url = methodUrl(
    target,
    request.stream === true ? "converse-stream" : "converse",
    surroundings,
  );
  const state: Sent = { includeUsage: wantsUsage(request), origin, names };
  const sent = postJson(url, {}, body, { fields, state });
  const headers = authorize("POST", url, String(sent.body), target, surroundings);
  return { ...sent, headers, additions: added };
}

function calledTools(turns: readonly Turn[]): string[] {
  return turns.flatMap((turn) =>
    turn.role === "assistant" ? turn.calls.map((call) => call.name) : [],
  );
}

interface Settings {
  inference: Record<string, unknown>;
  effort?: string | undefined;
  /** See `WireRequest.additions`. */
  added?: readonly string[] | undefined;
}

function encodeClaude(
  fields: Fields,
  model: ClaudeModel,
  extra: Extra,
  request: { forced: boolean; brokenLoop: boolean; bare: boolean | undefined },
): Settings {
  const requestedMax = fields.maxTokens();
  const limit = requestedMax ?? model.maxOutput;
  const { thinking, effort, added } = claudeThinking(fields, model, limit, request);
  if (thinking !== undefined) extra.thinking = thinking;
  const { temperature, topP, topK } = claudeSampling(fields, model, thinking);
  if (topK !== undefined) extra.top_k = topK;
  // A budget must be below the limit, whose default is low.
  const maxTokens =
    requestedMax ?? (thinking?.budget_tokens === undefined ? undefined : model.maxOutput);
  return {
    inference: { maxTokens, temperature, topP, stopSequences: filled(claudeStops(fields)) },
    effort,
    added,
  };
}

function encodePlain(fields: Fields, model: string, extra: Extra): Record<string, unknown> {
  const topK = fields.number("top_k");
  if (topK !== undefined) {
    if (/amazon\.nova/.test(model)) extra.inferenceConfig = { topK };
    else extra.top_k = topK;
  }
  const effort = readEffort(fields);
  if (effort !== undefined) {
    if (/gpt-oss/.test(model) && ["low", "medium", "high"].includes(effort))
      extra.reasoning_effort = effort;
    else if (effort !== "none") fields.drop("reasoning_effort");
  }
  return {
    maxTokens: fields.maxTokens(),
    temperature: fields.number("temperature"),
    topP: fields.number("top_p"),
    stopSequences: filled(fields.stops()),
  };
}

/** Encodes `response_format`. Models that do not support a schema get an instruction. */
function encodeFormat(
  fields: Fields,
  claude: ClaudeModel | undefined,
  model: string,
  system: Block[],
): unknown {
  const format = readResponseFormat(fields);
  if (format === undefined) return undefined;
  const supportsSchema = claude?.schemas ?? !/(amazon|meta|cohere|ai21)\./.test(model);
  if (format.kind === "json" || !supportsSchema) {
    system.push({ text: jsonInstruction(format) });
    if (format.kind === "schema") fields.drop("response_format.json_schema");
    return undefined;
  }
  const { name, description, schema } = format;
  // Converse expects the schema as a string.
  const text = stringifyExact(claude === undefined ? schema : strictSchema(schema));
  return { type: "json_schema", structure: { jsonSchema: { schema: text, name, description } } };
}

function encodeTier(fields: Fields): string | undefined {
  const tier = fields.string("service_tier");
  if (tier === undefined || tier === "auto") return undefined;
  if (["default", "priority", "flex"].includes(tier)) return tier;
  fields.drop("service_tier");
  return undefined;
}

/** Encodes `metadata` and the user's id. Drops entries with characters that are not allowed. */
function encodeMetadata(fields: Fields): Record<string, string> | undefined {
  const entries: [string, unknown][] = Object.entries(fields.object("metadata") ?? {});
  const user = fields.string("safety_identifier") ?? fields.string("user");
  fields.take("user");
  if (user !== undefined) entries.push(["user", user]);
  const allowedText = /^[a-zA-Z0-9\s:_@$#=/+,\-.]{0,256}$/;
  const allowedEntries: [string, string][] = [];
  for (const [name, value] of entries) {
    if (typeof value === "string" && allowedText.test(value) && allowedText.test(name))
      allowedEntries.push([name, value]);
    else fields.drop(name === "user" ? "user" : `metadata.${name}`);
  }
  return allowedEntries.length > 0 ? Object.fromEntries(allowedEntries) : undefined;
}
