import type { Dialect, Problem, Script, SeenRequest, View } from "./dialect.ts";
import { jsonBytes, need, onlyKeys, sse, statusOf, TOKENS, turn } from "./dialect.ts";

export const usage = {
  prompt_tokens: TOKENS.prompt,
  completion_tokens: TOKENS.completion,
  total_tokens: TOKENS.prompt + TOKENS.completion,
  prompt_tokens_details: { cached_tokens: TOKENS.cached },
};
const FINISH = { length: "length", filter: "content_filter" };

function finishOf(script: Script): string {
  if (script.finish) return FINISH[script.finish];
  return script.calls ? "tool_calls" : "stop";
}

function wireCalls(script: Script) {
  return script.calls?.map((call, i) => ({
    id: call.id ?? `call_${i}`,
    type: "function",
    function: { name: call.name, arguments: JSON.stringify(call.args ?? {}) },
  }));
}

const meta = { id: "chatcmpl-up", created: 1_700_000_000, model: "real-model" };
const chunk = (delta: object, finish_reason: string | null = null) =>
  sse({ ...meta, object: "chat.completion.chunk", choices: [{ index: 0, delta, finish_reason }] });

export const openai: Dialect = {
  name: "openai",
  model: "gpt-4o",
  channel: (root) => ({ provider: "openai", baseUrl: `${root}/v1`, apiKey: "secret" }),
  read(seen) {
    need(seen.path === "/v1/chat/completions", `wrong path ${seen.path}`);
    need(seen.headers.authorization === "Bearer secret", "wrong key");
    return readOpenAi(seen);
  },
  wholeType: "application/json",
  whole: (script) =>
    jsonBytes({
      ...meta,
      object: "chat.completion",
      choices: [
        {
          index: 0,
          message: {
            role: "assistant",
            content: script.text?.join("") ?? null,
            reasoning_content: script.reasoning,
            tool_calls: wireCalls(script),
          },
          finish_reason: finishOf(script),
        },
      ],
      usage,
    }),
  streamType: "text/event-stream",
  stream: (script) => [
    chunk({ role: "assistant", content: "" }),
    ...(script.reasoning ? [chunk({ reasoning_content: script.reasoning })] : []),
    ...(script.text ?? []).map((content) => chunk({ content })),
    ...(wireCalls(script) ?? []).flatMap((call, index) => [
      chunk({
        tool_calls: [{ index, ...call, function: { name: call.function.name, arguments: "" } }],
      }),
      chunk({ tool_calls: [{ index, function: { arguments: call.function.arguments } }] }),
    ]),
    chunk({}, finishOf(script)),
    sse({ ...meta, object: "chat.completion.chunk", choices: [], usage }),
    sse("[DONE]"),
  ],
  closing: 3,
  refusal: (problem) => openAiRefusal(problem),
  errorEvent: (message) =>
    sse({ error: { message, type: "server_error", param: null, code: null } }),
  clientId: (id) => id,
};

const ERRORS: Partial<Record<Problem, { message: string; type: string; code: string }>> = {
  context_length: {
    message:
      "This model's maximum context length is 128000 tokens. However, your messages resulted in 150000 tokens. Please reduce the length of the messages.",
    type: "invalid_request_error",
    code: "context_length_exceeded",
  },
  model: {
    message: "The model `no-such-model` does not exist or you do not have access to it.",
    type: "invalid_request_error",
    code: "model_not_found",
  },
};

export function openAiRefusal(problem: Problem): ReturnType<Dialect["refusal"]> {
  const error = ERRORS[problem] ?? { message: `why ${problem}`, type: "some_error", code: null };
  return {
    status: statusOf(problem),
    body: { error: { ...error, param: null } },
    headers: problem === "rate_limit" ? { "retry-after": "30" } : undefined,
  };
}

/** Reads a request in OpenAI's format. Unknown fields are allowed, as in many servers of the format. */
export function readOpenAi({ body, headers }: SeenRequest): View {
  need(headers["content-type"]?.startsWith("application/json"), "wrong content type");
  const view: View = {
    model: body.model,
    stream: body.stream === true,
    system: "",
    turns: [],
    tools: (body.tools ?? []).map((tool: any) => {
      onlyKeys("tool", tool, ["type", "function"]);
      return tool.function.name;
    }),
    choice:
      typeof body.tool_choice === "object"
        ? `[${body.tool_choice.function?.name ?? body.tool_choice.type}]`
        : body.tool_choice,
    schema: body.response_format?.json_schema?.schema,
    maxTokens: body.max_tokens ?? body.max_completion_tokens,
    temperature: body.temperature,
    stop: body.stop === undefined ? [] : [body.stop].flat(),
  };
  for (const message of body.messages) readMessage(view, message);
  return view;
}

function readMessage(view: View, message: any): void {
  const parts =
    typeof message.content === "string"
      ? [{ type: "text", text: message.content }]
      : (message.content ?? []);
  const text = parts.map((part: { text?: string }) => part.text ?? "").join("");
  if (message.role === "system" || message.role === "developer") {
    view.system += text;
    return;
  }
  const next = turn(message.role);
  if (message.role === "tool") next.results.push({ id: message.tool_call_id, text });
  else next.text = text;
  next.images = imagesOf(parts);
  next.calls = callsOf(message);
  view.turns.push(next);
}

function imagesOf(parts: any[]): string[] {
  return parts
    .filter((part) => part.type === "image_url")
    .map(({ image_url }) => (typeof image_url === "string" ? image_url : image_url.url))
    .map((url: string) => url.replace(/^data:.*,/, ""));
}

function callsOf(message: any): View["turns"][number]["calls"] {
  return (message.tool_calls ?? []).map((call: any) => ({
    id: call.id,
    name: call.function.name,
    args: JSON.parse(call.function.arguments),
  }));
}
