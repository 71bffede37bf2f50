/** Chunks of an OpenAI stream, for translators that are called directly. */
import type { ChatChunk } from "portico/chat";

export const chunk = (
  delta: object,
  finish_reason: string | null = null,
  more: object = {},
): ChatChunk => ({
  id: "chatcmpl-1",
  object: "chat.completion.chunk",
  created: 1,
  model: "up",
  choices: [{ index: 0, delta, finish_reason }],
  ...more,
});

/** The delta of a tool call; with a `name` its first one. */
export const callDelta = (index: number, args: string, name?: string) => ({
  tool_calls: [
    {
      index,
      ...(name && { id: `c${index}`, type: "function" }),
      function: { ...(name && { name }), arguments: args },
    },
  ],
});

/** What the `data:` lines of an event stream hold, where each event has a name before it. */
export const readNamedEvents = (text: string): any[] =>
  text
    .trim()
    .split("\n\n")
    .map((block) => JSON.parse(block.split("\ndata: ")[1]!));
