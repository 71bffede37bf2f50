import {
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
  jsonInstruction,
  onlyOneChoice,
  type NativeRequest,
  originOf,
  parseResponse,
  postJson,
  readFields,
  readResponseFormat,
  readTools,
  strictSchema,
  type Target,
  type ToolUse,
  wantsUsage,
  type WireRequest,
  withHeaders,
} from "portico/provider";
import { encodeTurns, type SystemText } from "./messages.ts";

/** The facts about a request that `decode` and `parts` need. */
export interface Sent extends BlockOptions {
  includeUsage: boolean;
}

/** Encodes the Messages request. Throws 400 with `param` for values that it cannot express. */
export async function encodeMessages(chat: ChatRequest, target: Target): Promise<WireRequest> {
  const { request, names } = fitToolNames(chat);
  const fields = readFields(request);
  const model = claudeModel(target.model);
  const origin = originOf({ model: target.model });
  onlyOneChoice(fields);

  const use = readTools(request, fields);
  const choice = encodeToolChoice(use, fields, model);
  const { system, messages, brokenLoop } = await encodeTurns(
    request.messages,
    target,
    origin,
    fields,
  );
  const maxTokens = fields.maxTokens() ?? model.maxOutput;
  const forced = choice?.type === "any" || choice?.type === "tool";
  const { thinking, effort, added } = claudeThinking(fields, model, maxTokens, {
    forced,
    brokenLoop,
    bare: target.bare,
  });
  const format = encodeFormat(fields, model, system);
  const { temperature, topP, topK } = claudeSampling(fields, model, thinking);
  const user = fields.string("safety_identifier") ?? fields.string("user");
  fields.take("user");

  const body = {
    model: target.model,
    max_tokens: maxTokens,
    system: system.length > 0 ? joinSystem(system) : undefined,
    messages,
    stream: request.stream === true || undefined,
    tools: encodeTools(use, model, fields),
    tool_choice: choice,
    thinking,
    output_config: filledObject({ effort, format }),
    stop_sequences: filled(claudeStops(fields)),
    temperature,
    top_p: topP,
    top_k: topK,
    metadata: filledObject({ user_id: user }),
    service_tier: encodeServiceTier(fields),
  };
  const state: Sent = { includeUsage: wantsUsage(request), origin, names };
  const url = `${target.baseUrl}/v1/messages`;
  return { ...postJson(url, headersFor(target), body, { fields, state }), additions: added };
}

export function headersFor(target: Target): Record<string, string> {
  const key = target.apiKey;
  const headers: Record<string, string> = { "anthropic-version": "2023-06-01" };
  if (key?.startsWith("sk-ant-oat")) headers.authorization = `Bearer ${key}`;
  else if (key !== undefined) headers["x-api-key"] = key;
  return withHeaders(headers, target.headers);
}

/** Joins the texts to one string, as most clients send it. Keeps them as blocks if one of them has a cache mark. */
function joinSystem(system: readonly SystemText[]): unknown {
  if (!system.some((part) => part.cache !== undefined))
    return system.map((part) => part.text).join("\n");
  return system.map(({ text, cache }) => ({ type: "text", text, cache_control: cache }));
}

type Choice = {
  type: "auto" | "any" | "none" | "tool";
  name?: string;
  disable_parallel_tool_use?: true;
};

function encodeToolChoice(use: ToolUse, fields: Fields, model: ClaudeModel): Choice | undefined {
  const parallel = fields.boolean("parallel_tool_calls");
  if (use.tools.length === 0) return undefined;
  const single = parallel === false ? { disable_parallel_tool_use: true as const } : {};
  const choice = use.choice;
  if (choice === undefined) return parallel === false ? { type: "auto", ...single } : undefined;
  switch (choice.kind) {
    case "none":
      return { type: "none" };
    case "auto":
      return { type: "auto", ...single };
    default:
      if (!model.forcedTools) {
        fields.drop("tool_choice");
        return { type: "auto", ...single };
      }
      return choice.kind === "named"
        ? { type: "tool", name: choice.name, ...single }
        : { type: "any", ...single };
  }
}

function encodeTools(use: ToolUse, model: ClaudeModel, fields: Fields): unknown[] | undefined {
  if (use.tools.length === 0) return undefined;
  return use.tools.map((tool) => {
    const strict = tool.strict && model.schemas;
    if (tool.strict && !strict) fields.drop(`${tool.path}.function.strict`);
    const schema = { type: "object", ...(tool.parameters ?? { properties: {} }) };
    return {
      name: tool.name,
      description: tool.description,
      input_schema: strict ? strictSchema(schema) : schema,
      strict: strict || undefined,
      cache_control: tool.cache,
    };
  });
}

/** Encodes `response_format`. Models that do not support a schema get an instruction. */
function encodeFormat(fields: Fields, model: ClaudeModel, system: SystemText[]): unknown {
  const format = readResponseFormat(fields);
  if (format === undefined) return undefined;
  if (format.kind === "schema" && model.schemas)
    return { type: "json_schema", schema: strictSchema(format.schema) };
  system.push({ text: jsonInstruction(format) });
  if (format.kind === "schema") fields.drop("response_format.json_schema");
  return undefined;
}

function encodeServiceTier(fields: Fields): string | undefined {
  const tier = fields.string("service_tier");
  if (tier === "default" || tier === "standard_only") return "standard_only";
  if (tier !== undefined && tier !== "auto") fields.drop("service_tier");
  return undefined;
}

/** The members that `count_tokens` accepts. It refuses all others. */
const COUNTED = ["messages", "system", "tools", "tool_choice", "thinking", "output_config"];
/** The members that it accepts in requests of clients of the format. */
const COUNTED_NATIVE = [...COUNTED, "cache_control", "context_management", "mcp_servers", "thread"];

export async function encodeCount(
  request: ChatRequest,
  target: Target,
  native: NativeRequest | undefined,
): Promise<WireRequest> {
  const url = `${target.baseUrl}/v1/messages/count_tokens`;
  if (native?.form === "anthropic") {
    const headers = withHeaders({ ...headersFor(target), ...native.headers }, target.headers);
    return postJson(url, headers, {
      model: target.model,
      ...onlyMembers(native.body, COUNTED_NATIVE),
    });
  }
  const encoded = await encodeMessages(request, target);
  const body = JSON.parse(String(encoded.body)) as Record<string, unknown>;
  return postJson(url, headersFor(target), { model: target.model, ...onlyMembers(body, COUNTED) });
}

function onlyMembers(
  body: Record<string, unknown>,
  names: readonly string[],
): Record<string, unknown> {
  return Object.fromEntries(Object.entries(body).filter(([name]) => names.includes(name)));
}

/** Reads `{input_tokens}`. */
export function decodeCount(body: Buffer): number | undefined {
  const tokens = parseResponse(body)?.input_tokens;
  return typeof tokens === "number" ? tokens : undefined;
}
