/** Reads streams in our own form back into chunks. */
import { type ChatChunk, createFastPath, createSseParser } from "portico/chat";
import { textOf } from "../kit/stream/literal.ts";

/** Takes the bytes of one stream. */
export interface ChunkReader {
  push(bytes: Buffer): void;
}

/**
 * `[DONE]` is no chunk: the stream's end tells the same. With `takeText`, chunks that say nothing but some text of the
 * first choice are parsed once: of those that differ from it in their text only, the text comes there.
 */
export function readChunks(
  take: (chunk: ChatChunk) => void,
  takeText?: (text: string) => void,
): ChunkReader {
  const parser = createSseParser((data) => {
    if (data.length <= 6) return;
    const chunk = JSON.parse(data.toString("utf8")) as ChatChunk;
    take(chunk);
    if (saysOnlyText(chunk)) fastPath?.learn();
  });
  const onText = (bytes: Buffer, start: number, end: number) =>
    takeText?.(textOf(bytes.toString("utf8", start, end)));
  const fastPath = takeText && createFastPath({ key: "content", events: "blocks", parser, onText });
  return fastPath ?? parser;
}

/** Nothing but some text of the first choice, which goes on. */
export function saysOnlyText({ choices, usage }: ChatChunk): boolean {
  const [first, ...others] = choices ?? [];
  if (first?.index !== 0 || others.length > 0 || usage != null) return false;
  const { delta, finish_reason, logprobs } = first;
  return (
    typeof delta.content === "string" &&
    Object.keys(delta).length === 1 &&
    finish_reason === null &&
    logprobs == null
  );
}
