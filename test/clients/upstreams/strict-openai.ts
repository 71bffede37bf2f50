/** OpenAI's own chat completions: it refuses members that it does not know, and calls without results. */
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
/** `cache_control`: clients add it where a model's name makes them think of Claude, and what they add passes as it is. */
const MESSAGE: Record<string, string[]> = {
  system: ["role", "content", "name", "cache_control"],
  developer: ["role", "content", "name", "cache_control"],
  user: ["role", "content", "name", "cache_control"],
  assistant: [
    ...["role", "content", "name", "refusal", "audio", "tool_calls", "function_call"],
    // The gateway leaves them out at OpenAI's own address only; other servers of the format want them back.
    ...["reasoning_content", "extra_content", "cache_control"],
  ],
  tool: ["role", "content", "tool_call_id", "cache_control"],
};

export const strictOpenai: Dialect = {
  ...openai,
  read(seen) {
    onlyKeys("body", seen.body, BODY);
    let open: string[] = [];
    for (const message of seen.body.messages) {
      const keys = MESSAGE[message.role];
      need(keys, `unknown role ${message.role}`);
      onlyKeys(`${message.role} message`, message, keys);
      if (message.role === "tool") {
        need(
          open.includes(message.tool_call_id),
          "messages with role 'tool' must follow their call",
        );
        open = open.filter((id) => id !== message.tool_call_id);
        continue;
      }
      need(open.length === 0, `tool_call_ids did not have response messages: ${open}`);
      const calls: { id: string }[] = message.tool_calls ?? [];
      need(message.tool_calls === undefined || calls.length > 0, "tool_calls is too short");
      open = calls.map(({ id }) => id);
    }
    need(open.length === 0, `tool_call_ids did not have response messages: ${open}`);
    return openai.read(seen);
  },
};
