/** The events of requests for models. */
import type { PluginContext, PluginDefinition } from "portico";

/** Who emits them. */
export type Emitter = Pick<PluginContext, "emit" | "hasHandlers" | "hasListeners" | "log">;

export const events: PluginDefinition["events"] = {
  "channel:resting": {
    mode: "notify",
    description:
      "A model of a channel failed three times in a row, or its probe failed: it is not asked for a while.",
    sample: {
      channel: "main",
      model: "gpt-4o",
      until: "2026-11-22T08:00:05.000Z",
      error: "The upstream answered status 500.",
    },
  },
  "message:received": {
    mode: "answer",
    description:
      "A message for a model came in: the last user message of a chat completion, a webhook's, a command's.",
    changes: ["content"],
    sample: { content: "What is the weather in Lisbon?", source: "chat", model: "echo" },
  },
  "message:sent": {
    mode: "notify",
    description: "An answer went out.",
    sample: { content: "Sunny, 24 °C.", source: "chat", model: "echo" },
  },
  "message:sending": {
    mode: "answer",
    effects: ["block"],
    description:
      "A response is about to leave; a stream is held until it is whole, unless the hook also handles `message:streaming`. Its text may be changed or refused.",
    changes: ["content"],
    sample: { content: "Write to ada@example.org.", source: "chat", model: "echo" },
  },
  "message:streaming": {
    mode: "change",
    description:
      "A piece of a streamed text is about to leave. It may be changed, and held back until a later piece; the last one is final.",
    changes: ["text"],
    sample: {
      streamId: "req_4f0c2a",
      text: "Write to ada@",
      final: false,
      source: "chat",
      model: "echo",
    },
  },
  "chat:request": {
    mode: "answer",
    description: "A chat completion is about to be routed; the whole request may be changed.",
    changes: ["request"],
    sample: {
      request: { model: "echo", messages: [{ role: "user", content: "Hello" }] },
      stream: false,
    },
  },
  "chat:response": {
    mode: "notify",
    description: "A chat completion has ended, well or not.",
    sample: {
      requestId: "req_4f0c2a",
      model: "echo",
      channel: "echo",
      status: 200,
      content: "Hello",
      finishReason: "stop",
      usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
      ms: 3,
      firstByteMs: 2,
      attempts: 1,
    },
  },
};
