/** Reads streams in our own form back into chunks. */
import { type ChatChunk, createSseParser, type SseParser } from "portico/chat";

/** `[DONE]` is no chunk: the stream's end tells the same. */
export function readChunks(take: (chunk: ChatChunk) => void): SseParser {
  return createSseParser((data) => {
    if (data.length > 6) take(JSON.parse(data.toString("utf8")) as ChatChunk);
  });
}
