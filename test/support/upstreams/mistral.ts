import type { Dialect, Problem, Script } from "./dialect.ts";
import { needMistralOrder, needUniqueId, needWellFormed } from "./demands.ts";
import { jsonBytes, need, onlyKeys, sse } from "./dialect.ts";
import { openAiRefusal, readOpenAi, usage } from "./openai.ts";

const KEYS = [
  "model",
  "messages",
  "temperature",
  "top_p",
  "max_tokens",
  "stream",
  "stop",
  "random_seed",
  "response_format",
  "tools",
  "tool_choice",
  "parallel_tool_calls",
  "presence_penalty",
  "frequency_penalty",
  "n",
  "prediction",
  "metadata",
  "reasoning_effort",
  "prompt_mode",
  "safe_prompt",
  "prompt_cache_key",
];
const MESSAGE: Record<string, string[]> = {
  system: ["role", "content"],
  user: ["role", "content"],
  assistant: ["role", "content", "tool_calls", "prefix"],
  tool: ["role", "content", "tool_call_id", "name"],
};
const meta = { id: "up", created: 1_700_000_000, model: "real-model" };
const FINISH = { length: "model_length", filter: "stop" };
function finishOf(script: Script): string {
  if (script.finish) return FINISH[script.finish];
  return script.calls ? "tool_calls" : "stop";
}
const chunk = (delta: object, finish_reason: string | null = null, more: object = {}) =>
  sse({
    ...meta,
    object: "chat.completion.chunk",
    choices: [{ index: 0, delta, finish_reason }],
    ...more,
  });
const thinking = (text: string) => [
  { type: "thinking", thinking: [{ type: "text", text }], closed: true },
];

/** Mistral sends complete calls, with arguments as a string. The string is empty if there are none. */
const calls = (script: Script) =>
  script.calls?.map((call, index) => ({
    id: call.id,
    index,
    function: { name: call.name, arguments: call.args ? JSON.stringify(call.args) : "" },
  }));

const ERRORS: Partial<Record<Problem, { message: string; type: string; code: string }>> = {
  context_length: {
    message:
      "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
    type: "invalid_request_error",
    code: "3051",
  },
  model: { message: "Invalid model: no-such-model", type: "invalid_model", code: "1500" },
};

export const mistral: Dialect = {
  name: "mistral",
  model: "mistral-small-latest",
  channel: (root) => ({ provider: "mistral", baseUrl: root, apiKey: "secret" }),
  read(seen) {
    const { body } = seen;
    need(seen.path === "/v1/chat/completions", `wrong path ${seen.path}`);
    need(seen.headers.authorization === "Bearer secret", "wrong key");
    onlyKeys("body", body, KEYS);
    need(
      [undefined, "auto", "none", "any"].includes(body.tool_choice) || body.tool_choice.function,
      "wrong tool_choice",
    );
    needWellFormed(body);
    needMistralOrder(body.messages);
    const usedIds = new Set<string>();
    for (const message of body.messages) {
      const keys = MESSAGE[message.role];
      need(keys, `unknown role ${message.role}`);
      onlyKeys(message.role, message, keys);
      const ids = [
        message.tool_call_id,
        ...(message.tool_calls ?? []).map((call: { id: string }) => call.id),
      ];
      for (const id of ids)
        need(id === undefined || /^[a-zA-Z0-9]{9}$/.test(id), `bad tool call id ${id}`);
      for (const call of message.tool_calls ?? []) {
        needUniqueId(call.id, usedIds);
        onlyKeys("call", call, ["id", "type", "function"]);
      }
    }
    for (const tool of body.tools ?? [])
      need(tool.function.parameters?.type === "object", "parameters are required");
    const view = readOpenAi(seen);
    return { ...view, choice: view.choice === "any" ? "required" : view.choice };
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
            content: script.reasoning
              ? [...thinking(script.reasoning), { type: "text", text: script.text?.join("") ?? "" }]
              : (script.text?.join("") ?? ""),
            tool_calls: calls(script) ?? null,
          },
          finish_reason: finishOf(script),
        },
      ],
      usage,
    }),
  streamType: "text/event-stream; charset=utf-8",
  stream: (script) => [
    chunk({ role: "assistant", content: "" }),
    ...(script.reasoning ? [chunk({ content: thinking(script.reasoning) })] : []),
    ...(script.text ?? []).map((content) => chunk({ content })),
    ...(script.calls ? [chunk({ content: "", tool_calls: calls(script) })] : []),
    chunk({ content: "" }, finishOf(script), { usage }),
    sse("[DONE]"),
  ],
  closing: 2,
  refusal: (problem) => {
    const { status, headers } = openAiRefusal(problem);
    const error = ERRORS[problem] ?? { message: `why ${problem}`, type: "x", code: "1" };
    return { status, body: { object: "error", ...error, param: null }, headers };
  },
  errorEvent: (message) => sse({ object: "error", message, type: "internal", code: "1" }),
  clientId: (id) => `call_${id}`,
};
