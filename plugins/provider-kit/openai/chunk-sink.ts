import type { ChatChunk } from "../types/format.ts";
import type { SourceEvent } from "../types/parts.ts";

/** Receives the output of a chunk encoder: chunks that it builds, unchanged events of the upstream, and comments. */
export interface ChunkSink {
  chunk(chunk: ChatChunk): void;
  event(event: SourceEvent): void;
  comment(text: string): void;
}
