/** Anthropic's Messages API with its threads, and with its requirements for requests with thinking. */
import { anthropic } from "../../support/upstreams/anthropic.ts";
import {
  type Dialect,
  need,
  type Script,
  type SeenRequest,
} from "../../support/upstreams/dialect.ts";

const THREADS_BETA = "message-threads-2026-08-12";
/** The messages of the last thread. */
let conversation: { role: string; content: unknown }[] = [];

function withThread(seen: SeenRequest): SeenRequest {
  const { thread, ...body } = seen.body;
  if (thread === undefined) {
    conversation = [];
    return seen;
  }
  const betas = String(seen.headers["anthropic-beta"]);
  need(betas.includes(THREADS_BETA), "thread: Extra inputs are not permitted");
  if (thread.type === "create") conversation = [];
  else need(thread.previous_message_id === "msg_up", "thread not found");
  conversation.push(...body.messages);
  return { ...seen, body: { ...body, messages: [...conversation] } };
}

/** Checks thinking: a turn that continues with tool results must begin with the thinking that led to the calls. */
function needThinking({ thinking, tool_choice: choice, max_tokens: most, messages }: any): void {
  if (thinking?.type !== "enabled") return;
  need(thinking.budget_tokens >= 1024, "thinking.budget_tokens: must be at least 1024");
  need(thinking.budget_tokens < most, "max_tokens must be greater than thinking.budget_tokens");
  need(
    !["any", "tool"].includes(choice?.type),
    "Thinking may not be enabled when tools are forced",
  );
  const last = messages.findLast(({ role }: any) => role === "assistant")?.content;
  const results = messages.at(-1).content;
  const hasResults =
    Array.isArray(results) && results.some(({ type }: any) => type === "tool_result");
  if (!hasResults) return;
  const first = last[0]?.type;
  need(
    first === "thinking" || first === "redacted_thinking",
    `Expected \`thinking\` or \`redacted_thinking\`, but found \`${first}\``,
  );
  need(first !== "thinking" || last[0].signature === "signed", "Invalid `signature` in `thinking`");
}

function remember(script: Script): void {
  const { role, content } = JSON.parse(anthropic.whole(script).toString("utf8"));
  conversation.push({ role, content });
}

export const strictAnthropic: Dialect = {
  ...anthropic,
  read(seen) {
    const request = withThread(seen);
    needThinking(request.body);
    return anthropic.read(request);
  },
  whole(script) {
    remember(script);
    return anthropic.whole(script);
  },
  stream(script) {
    remember(script);
    return anthropic.stream(script);
  },
};
