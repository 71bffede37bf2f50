/** Records the signatures of a response, whole or streamed. */
import { newCompletionId, PartCollector } from "portico/provider";
import type { ChatResponse } from "../chat-response.ts";
import type { Job } from "../job.ts";
import { type PartStream, wrapFlow } from "../streams/flow.ts";
import type { Signatures } from "./signatures.ts";

/**
 * Returns the response and remembers the signatures of its messages. A native response keeps them in its own format, so
 * it is left alone.
 */
export function rememberSignatures(
  signatures: Signatures,
  response: ChatResponse,
  job: Job,
  channel: string,
): ChatResponse {
  if (response.native === true) return response;
  for (const { message } of response.completion?.choices ?? [])
    signatures.remember(job.client, channel, message);
  const { stream } = response;
  return stream === undefined
    ? response
    : { ...response, stream: watchStream(stream, signatures, job, channel) };
}

function watchStream(
  stream: PartStream,
  signatures: Signatures,
  { client }: Job,
  channel: string,
): PartStream {
  return wrapFlow(stream, async function* () {
    const collector = new PartCollector({ id: newCompletionId(), created: 0, model: "" });
    for await (const parts of stream) {
      collector.add(parts);
      yield parts;
    }
    for (const { message } of collector.completion().choices)
      signatures.remember(client, channel, message);
  });
}
