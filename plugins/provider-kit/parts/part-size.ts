import type { StreamPart } from "../types/parts.ts";

/** Returns roughly how many bytes of memory a part takes with its event. */
export function partSize(part: StreamPart): number {
  const textLength = "text" in part ? part.text.length : 0;
  return 200 + textLength + (part.source?.json.length ?? 0);
}
