import {
  bearerHeaders,
  type ChatRequest,
  type Effort,
  type Fields,
  filled,
  filledObject,
  functionTool,
  onlyOneChoice,
  type Part,
  postJson,
  readConversation,
  readEffort,
  readFields,
  readImage,
  readResponseFormat,
  readTools,
  refused,
  type Target,
  textOf,
  type ToolUse,
  type Turn,
  wantsUsage,
  type WireRequest,
} from "portico/provider";

/** The facts about a request that are stored with it. */
interface Sent {
  includeUsage: boolean;
}

/** Encodes the `/api/chat` request. Throws 400 with `param` for values that it cannot express. */
export async function encodeChat(request: ChatRequest, target: Target): Promise<WireRequest> {
  const fields = readFields(request);
  onlyOneChoice(fields);
  const conversation = readConversation(request.messages);
  for (const path of conversation.dropped) fields.drop(path);
  const messages: object[] = [];
  for (const turn of conversation.turns)
    for (const message of await encodeTurn(turn, target)) messages.push(message);
  const format = readResponseFormat(fields);

  const body = {
    model: target.model,
    messages,
    // The upstream's default is true.
    stream: request.stream === true,
    tools: filled(encodeTools(readTools(request, fields), fields)),
    format: format?.kind === "json" ? "json" : format?.schema,
    think: encodeThink(readEffort(fields), fields, target.model),
    keep_alive: fields.take("keep_alive") ?? target.options.keepAlive,
    options: filledObject(encodeOptions(fields, target)),
  };
  const state: Sent = { includeUsage: wantsUsage(request) };
  return postJson(`${target.baseUrl}/api/chat`, bearerHeaders(target), body, { fields, state });
}

async function encodeTurn(turn: Turn, target: Target): Promise<Record<string, unknown>[]> {
  if (turn.role === "system") return [{ role: "system", content: textOf(turn.parts) }];
  if (turn.role === "assistant") {
    const calls = turn.calls.map((call) => ({
      function: { name: call.name, arguments: call.args },
    }));
    const content = textOf(turn.parts);
    return [{ role: "assistant", content, thinking: turn.reasoning, tool_calls: filled(calls) }];
  }
  if (turn.results.length > 0) {
    const results = [];
    for (const result of turn.results) {
      const images = await imagesOf(result.parts, target);
      results.push({ role: "tool", content: textOf(result.parts), tool_name: result.name, images });
    }
    return results;
  }
  return [
    { role: "user", content: textOf(turn.parts), images: await imagesOf(turn.parts, target) },
  ];
}

async function imagesOf(
  parts: readonly Part[],
  target: Target,
): Promise<readonly string[] | undefined> {
  const images: string[] = [];
  for (const part of parts) {
    if (part.kind === "text") continue;
    if (part.kind !== "image") {
      throw refused(
        part.path,
        `Ollama accepts only text and images, not ${part.kind === "file" ? "files" : "audio"}`,
      );
    }
    images.push((await readImage(part, target)).base64);
  }
  return filled(images);
}

/** Encodes tools. Ollama has no `tool_choice`: `none` omits the tools, and a call cannot be forced. */
function encodeTools(use: ToolUse, fields: Fields): unknown[] {
  if (fields.boolean("parallel_tool_calls") === false && use.tools.length > 0)
    fields.drop("parallel_tool_calls");
  const choice = use.choice;
  if (choice?.kind === "none") return [];
  if (choice?.kind === "required" || choice?.kind === "named") fields.drop("tool_choice");
  const allowedTools =
    choice?.kind === "named" ? use.tools.filter((tool) => tool.name === choice.name) : use.tools;
  return allowedTools.map((tool) => {
    if (tool.strict) fields.drop(`${tool.path}.function.strict`);
    return functionTool(tool);
  });
}

/** Encodes `think`: a level for models that have levels (gpt-oss), true or false for others. */
function encodeThink(effort: Effort | undefined, fields: Fields, model: string): unknown {
  const requestedThink = fields.take("think");
  if (requestedThink !== undefined) return requestedThink;
  if (effort === undefined) return undefined;
  if (!/gpt-oss/i.test(model)) return effort !== "none";
  if (effort === "none") {
    fields.drop("reasoning_effort");
    return "low";
  }
  return { minimal: "low", low: "low", medium: "medium", high: "high", xhigh: "high", max: "high" }[
    effort
  ];
}

function encodeOptions(fields: Fields, target: Target): Record<string, unknown> {
  const settings = {
    num_predict: fields.maxTokens(),
    temperature: fields.number("temperature"),
    top_p: fields.number("top_p"),
    top_k: fields.number("top_k"),
    min_p: fields.number("min_p"),
    seed: fields.number("seed"),
    frequency_penalty: fields.number("frequency_penalty"),
    presence_penalty: fields.number("presence_penalty"),
    repeat_penalty: fields.number("repeat_penalty"),
    num_ctx: fields.number("num_ctx"),
    stop: filled(fields.stops()),
  };
  // The channel's options are the defaults.
  const requested = Object.fromEntries(
    Object.entries(settings).filter(([, value]) => value !== undefined),
  );
  return {
    ...(target.options.options as object | undefined),
    ...fields.object("options"),
    ...requested,
  };
}
