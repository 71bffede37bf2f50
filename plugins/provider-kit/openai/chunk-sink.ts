import type { ChatChunk } from "../types/format.ts";
import type { SourceEvent } from "../types/parts.ts";

/** Takes what a chunk encoder writes: a chunk of its own, an unchanged event of the upstream, or a comment. */
export interface ChunkSink {
  chunk(chunk: ChatChunk): void;
  event(event: SourceEvent): void;
  comment(text: string): void;
}
