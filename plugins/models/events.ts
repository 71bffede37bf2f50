/** The events of requests for models. */
import type { PluginContext, PluginDefinition } from "portico";

/** The part of the plugin context that emits events. */
export type Emitter = Pick<PluginContext, "emit" | "hasHandlers" | "hasListeners" | "log">;

export const events: PluginDefinition["events"] = {
  "channel:resting": {
    mode: "notify",
    description:
      "A model of a channel failed three times in a row, or a probe of the model failed. The gateway does not use the model for a while.",
    sample: {
      channel: "main",
      model: "gpt-4o",
      until: "2026-11-22T08:00:05.000Z",
      error: "The upstream responded with status 500.",
    },
  },
  "message:received": {
    mode: "answer",
    description:
      "The gateway received a message for a model: the last user message of a chat completion, or the message of a webhook or a command.",
    changes: ["content"],
    sample: { content: "What is the weather in Lisbon?", source: "chat", model: "echo" },
  },
  "message:sent": {
    mode: "notify",
    description: "The gateway sent a response.",
    sample: { content: "Sunny, 24 °C.", source: "chat", model: "echo" },
  },
  "message:sending": {
    mode: "answer",
    effects: ["block"],
    description:
      "The gateway is about to send a response. A streamed response is held back until it is complete, unless the hook also handles `message:streaming`. A hook can change or refuse the text.",
    changes: ["content"],
    sample: { content: "Write to ada@example.org.", source: "chat", model: "echo" },
  },
  "message:streaming": {
    mode: "change",
    description:
      "The gateway is about to send a part of a streamed text. A hook can change the part, or hold it back until a later part. The last part has `final: true`.",
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
    description:
      "The gateway is about to route a chat completion. A hook can change the whole request.",
    changes: ["request"],
    sample: {
      request: { model: "echo", messages: [{ role: "user", content: "Hello" }] },
      stream: false,
    },
  },
  "chat:response": {
    mode: "notify",
    description: "A chat completion has ended, successfully or not.",
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
