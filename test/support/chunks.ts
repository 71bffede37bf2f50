/** Chunks of an OpenAI stream, for translators that are called directly. */
import type { PorticoError } from "portico";
import { type ChatChunk, ChunkReader, PartWriter, type StreamEncoder } from "portico/provider";

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

/** Returns the delta of a tool call. With a `name`, it is the call's first delta. */
export const callDelta = (index: number, args: string, name?: string) => ({
  tool_calls: [
    {
      index,
      ...(name && { id: `c${index}`, type: "function" }),
      function: { ...(name && { name }), arguments: args },
    },
  ],
});

/** Parses the `data:` lines of an event stream in which each event has a name. */
export const readNamedEvents = (text: string): any[] =>
  text
    .trim()
    .split("\n\n")
    .map((block) => JSON.parse(block.split("\ndata: ")[1]!));

/** Wraps an encoder so that it accepts chunks in OpenAI's format, as an upstream of that format sends them. */
export function acceptChunks(encoder: StreamEncoder) {
  const head = { id: "chatcmpl-ours", created: 1, model: "ours" };
  const out = new PartWriter(head);
  const reader = new ChunkReader(out, head);
  return {
    chunk(openAiChunk: ChatChunk): string {
      reader.read(structuredClone(openAiChunk) as unknown as Record<string, unknown>);
      return encoder.write(out.take());
    },
    async end(): Promise<string> {
      reader.close();
      return encoder.write(out.take()) + (await encoder.end());
    },
    fail: (error: PorticoError) => encoder.fail(error),
  };
}
