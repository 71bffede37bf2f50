import {
  type ChatRequest,
  type ClaudeModel,
  claudeModel,
  claudeSampling,
  claudeStops,
  claudeThinking,
  type Fields,
  jsonInstruction,
  onlyOneChoice,
  originOf,
  readFields,
  readResponseFormat,
  readTools,
  strictSchema,
  type Target,
  type ToolUse,
  wantsUsage,
  type WireRequest,
  withHeaders,
} from "portico/chat";
import { encodeTurns } from "./messages.ts";

/** What `decode` and `decoder` remember of the request. */
export interface Sent {
  includeUsage: boolean;
  /** For whom the signatures of the answer's reasoning are good. */
  origin: string;
}

/** The Messages request. Throws 400 with `param` for what it cannot express. */
export async function encodeMessages(request: ChatRequest, target: Target): Promise<WireRequest> {
  const fields = readFields(request);
  const model = claudeModel(target.model);
  const origin = originOf({ model: target.model });
  onlyOneChoice(fields);

  const use = readTools(request);
  const choice = encodeToolChoice(use, fields, model);
  const { system, messages, endsInToolLoop, hasThinking } = await encodeTurns(request.messages, target, origin, fields);
  const maxTokens = fields.maxTokens() ?? model.maxOutput;
  const forced = choice?.type === "any" || choice?.type === "tool";
  const { thinking, effort } = claudeThinking(fields, model, maxTokens, {
    forced,
    // A loop of calls that began without (signed) thinking cannot go on with it.
    brokenLoop: endsInToolLoop && !hasThinking,
  });
  const output: Record<string, unknown> = effort === undefined ? {} : { effort };
  encodeFormat(fields, model, system, output);

  const stopSequences = claudeStops(fields);
  const { temperature, topP, topK } = claudeSampling(fields, model, thinking);
  const user = fields.string("safety_identifier") ?? fields.string("user");
  fields.take("user");

  const body = {
    model: target.model,
    max_tokens: maxTokens,
    ...(system.length > 0 && { system: joinSystem(system) }),
    messages,
    ...(request.stream === true && { stream: true }),
    ...encodeTools(use, model, fields),
    ...(choice !== undefined && { tool_choice: choice }),
    ...(thinking !== undefined && { thinking }),
    ...(Object.keys(output).length > 0 && { output_config: output }),
    ...(stopSequences.length > 0 && { stop_sequences: stopSequences }),
    ...(temperature !== undefined && { temperature }),
    ...(topP !== undefined && { top_p: topP }),
    ...(topK !== undefined && { top_k: topK }),
    ...(user !== undefined && { metadata: { user_id: user } }),
    ...encodeServiceTier(fields),
  };
  const state: Sent = { includeUsage: wantsUsage(request), origin };
  return {
    method: "POST",
    url: `${target.baseUrl}/v1/messages`,
    headers: { ...headersFor(target), "content-type": "application/json" },
    body: JSON.stringify(body),
    dropped: fields.dropped(),
    state,
  };
}

export function headersFor(target: Target): Record<string, string> {
  const key = target.apiKey;
  const own: Record<string, string> = { "anthropic-version": "2023-06-01" };
  if (key?.startsWith("sk-ant-oat")) own.authorization = `Bearer ${key}`;
  else if (key !== undefined) own["x-api-key"] = key;
  return withHeaders(own, target.headers);
}

export interface SystemText {
  text: string;
  cache?: unknown;
}

/** One string, as most clients send it; blocks only where a cache mark must stay on its part. */
function joinSystem(system: readonly SystemText[]): unknown {
  if (!system.some((part) => part.cache !== undefined)) return system.map((part) => part.text).join("\n");
  return system.map(({ text, cache }) => ({
    type: "text",
    text,
    ...(cache !== undefined && { cache_control: cache }),
  }));
}

type Choice = { type: "auto" | "any" | "none" | "tool"; name?: string; disable_parallel_tool_use?: true };

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
      return choice.kind === "named" ? { type: "tool", name: choice.name, ...single } : { type: "any", ...single };
  }
}

function encodeTools(use: ToolUse, model: ClaudeModel, fields: Fields): { tools?: unknown[] } {
  if (use.tools.length === 0) return {};
  const tools = use.tools.map((tool) => {
    const strict = tool.strict && model.schemas;
    if (tool.strict && !strict) fields.drop(`${tool.path}.function.strict`);
    const schema = { type: "object", ...(tool.parameters ?? { properties: {} }) };
    return {
      name: tool.name,
      ...(tool.description !== undefined && { description: tool.description }),
      input_schema: strict ? strictSchema(schema) : schema,
      ...(strict && { strict: true }),
      ...(tool.cache !== undefined && { cache_control: tool.cache }),
    };
  });
  return { tools };
}

function encodeFormat(fields: Fields, model: ClaudeModel, system: SystemText[], output: Record<string, unknown>): void {
  const format = readResponseFormat(fields);
  if (format === undefined) return;
  if (format.kind === "schema" && model.schemas) {
    output.format = { type: "json_schema", schema: strictSchema(format.schema) };
    return;
  }
  system.push({ text: jsonInstruction(format) });
  if (format.kind === "schema") fields.drop("response_format.json_schema");
}

function encodeServiceTier(fields: Fields): { service_tier?: string } {
  const tier = fields.string("service_tier");
  if (tier === "default" || tier === "standard_only") return { service_tier: "standard_only" };
  if (tier !== undefined && tier !== "auto") fields.drop("service_tier");
  return {};
}
