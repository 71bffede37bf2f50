import type { Dialect, Problem, Script, View } from "./dialect.ts";
import { jsonBytes, need, onlyKeys, statusOf, TOKENS, turn } from "./dialect.ts";

const KEYS = ["model", "messages", "stream", "format", "tools", "think", "keep_alive", "options"];
const MESSAGE = ["role", "content", "images", "tool_calls", "tool_name", "thinking"];

let clock = 0;
const line = (message: object, more: object = {}) => {
  const created_at = `2026-11-20T10:00:00.${clock++}Z`;
  const answer = {
    model: "real-model",
    created_at,
    message: { role: "assistant", ...message },
    done: false,
    ...more,
  };
  return Buffer.from(`${JSON.stringify(answer)}\n`);
};
const counts = {
  prompt_eval_count: TOKENS.prompt,
  eval_count: TOKENS.completion,
  total_duration: 5,
};
/** Ollama also sends `stop` after calls. */
const done = (script: Script) => ({
  done: true,
  done_reason: script.finish === "length" ? "length" : "stop",
  ...counts,
});
const calls = (script: Script) =>
  script.calls?.map((call) => ({ function: { name: call.name, arguments: call.args ?? {} } }));

const MESSAGES: Partial<Record<Problem, string>> = {
  context_length: "the input length exceeds the context length",
  model: 'model "no-such-model" not found, try pulling it first',
};

export const ollama: Dialect = {
  name: "ollama",
  model: "llama3.2",
  channel: (root) => ({ provider: "ollama", baseUrl: root }),
  read({ path, headers, body }) {
    need(path === "/api/chat", `wrong path ${path}`);
    need(headers.authorization === undefined, "a key where none was set");
    onlyKeys("body", body, KEYS);
    need(typeof body.stream === "boolean", "stream must be said: the default is true");
    const options = body.options ?? {};
    const view: View = {
      model: body.model,
      stream: body.stream,
      system: "",
      turns: [],
      tools: (body.tools ?? []).map((tool: { function: { name: string } }) => tool.function.name),
      choice: undefined,
      schema: body.format,
      maxTokens: options.num_predict,
      temperature: options.temperature,
      stop: options.stop ?? [],
    };
    for (const [i, message] of body.messages.entries()) {
      need(message.role !== "system" || i === 0, "System message must be at the beginning.");
      onlyKeys("message", message, MESSAGE);
      need(typeof message.content === "string", "content must be a string");
      if (message.role === "system") {
        view.system += message.content;
        continue;
      }
      const next = turn(message.role);
      if (message.role === "tool")
        next.results.push({ name: message.tool_name, text: message.content });
      else next.text = message.content;
      for (const image of message.images ?? []) {
        need(/^[A-Za-z0-9+/]+=*$/.test(image), "images must be bare base64");
        next.images.push(image);
      }
      for (const call of message.tool_calls ?? []) {
        need(typeof call.function.arguments === "object", "arguments must be an object");
        next.calls.push({ name: call.function.name, args: call.function.arguments });
      }
      view.turns.push(next);
    }
    return view;
  },
  wholeType: "application/json; charset=utf-8",
  whole: (script) =>
    jsonBytes({
      model: "real-model",
      message: {
        role: "assistant",
        content: script.text?.join("") ?? "",
        ...(script.reasoning && { thinking: script.reasoning }),
        ...(script.calls && { tool_calls: calls(script) }),
      },
      ...done(script),
    }),
  streamType: "application/x-ndjson",
  stream: (script) => [
    ...(script.reasoning ? [line({ content: "", thinking: script.reasoning })] : []),
    ...(script.text ?? []).map((content) => line({ content })),
    ...(script.calls ? [line({ content: "", tool_calls: calls(script) })] : []),
    line({ content: "" }, done(script)),
  ],
  closing: 1,
  refusal(problem) {
    const headers = problem === "rate_limit" ? { headers: { "retry-after": "30" } } : {};
    const error = MESSAGES[problem] ?? `why ${problem}`;
    return { status: statusOf(problem), body: { error }, ...headers };
  },
  errorEvent: (message) => Buffer.from(`${JSON.stringify({ error: message })}\n`),
};
