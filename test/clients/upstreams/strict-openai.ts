/** OpenAI's own chat completions, which refuses unknown members and calls without results. */
import { type Dialect, need, onlyKeys } from "../../support/upstreams/dialect.ts";
import { openai } from "../../support/upstreams/openai.ts";

const BODY = [
  ...["model", "messages", "stream", "stream_options", "tools", "tool_choice", "functions"],
  ...["function_call", "parallel_tool_calls", "temperature", "top_p", "n", "stop", "seed", "user"],
  ...["max_tokens", "max_completion_tokens", "presence_penalty", "frequency_penalty", "logit_bias"],
  ...["logprobs", "top_logprobs", "response_format", "reasoning_effort", "verbosity", "store"],
  ...["metadata", "service_tier", "modalities", "audio", "prediction", "web_search_options"],
  ...["prompt_cache_key", "prompt_cache_retention", "safety_identifier"],
];
/** The allowed members by role. Clients add `cache_control` if a model's name resembles Claude, and it passes unchanged. */
const MESSAGE: Record<string, string[]> = {
  system: ["role", "content", "name", "cache_control"],
  developer: ["role", "content", "name", "cache_control"],
  user: ["role", "content", "name", "cache_control"],
  assistant: [
    ...["role", "content", "name", "refusal", "audio", "tool_calls", "function_call"],
    // The gateway removes them only for OpenAI's own address, since other servers of the format require them.
    ...["reasoning_content", "extra_content", "cache_control"],
  ],
  tool: ["role", "content", "tool_call_id", "cache_control"],
};

export const strictOpenai: Dialect = {
  ...openai,
  read(seen) {
    onlyKeys("body", seen.body, BODY);
    let openCalls: string[] = [];
    for (const message of seen.body.messages) {
      const keys = MESSAGE[message.role];
      need(keys, `unknown role ${message.role}`);
      onlyKeys(`${message.role} message`, message, keys);
      if (message.role === "tool") {
        need(
          openCalls.includes(message.tool_call_id),
          "messages with role 'tool' must follow their call",
        );
        openCalls = openCalls.filter((id) => id !== message.tool_call_id);
        continue;
      }
      need(openCalls.length === 0, `tool_call_ids did not have response messages: ${openCalls}`);
      const calls: { id: string }[] = message.tool_calls ?? [];
      need(message.tool_calls === undefined || calls.length > 0, "tool_calls is too short");
      openCalls = calls.map(({ id }) => id);
    }
    need(openCalls.length === 0, `tool_call_ids did not have response messages: ${openCalls}`);
    return openai.read(seen);
  },
};
