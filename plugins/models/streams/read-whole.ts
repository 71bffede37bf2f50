/** Reads a stream of parts into one whole response. */
import { type ChatCompletion, type PartDefaults, PartCollector } from "portico/provider";
import type { PartStream } from "./flow.ts";

/** Rejects if the stream fails. */
export async function readWhole(
  stream: PartStream,
  defaults: PartDefaults,
): Promise<ChatCompletion> {
  const collector = new PartCollector(defaults);
  for await (const parts of stream) collector.add(parts);
  return collector.completion();
}
