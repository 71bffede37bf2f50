import type { StreamPart } from "../types/parts.ts";

/** The bytes of memory that a part takes with its event, roughly. */
export function partSize(part: StreamPart): number {
  const own = "text" in part ? part.text.length : 0;
  return 200 + own + (part.source?.json.length ?? 0);
}
