/** Takes the signatures out of a response, whole or streamed. */
import { newCompletionId, PartCollector } from "portico/provider";
import type { ChatResponse } from "../chat-response.ts";
import type { Job } from "../job.ts";
import { type PartStream, through } from "../streams/flow.ts";
import type { Signatures } from "./signatures.ts";

/** The same response; what its messages bring is remembered. A native one keeps its own form, and is left alone. */
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
    : { ...response, stream: watched(stream, signatures, job, channel) };
}

function watched(
  stream: PartStream,
  signatures: Signatures,
  { client }: Job,
  channel: string,
): PartStream {
  return through(stream, async function* () {
    const collector = new PartCollector({ id: newCompletionId(), created: 0, model: "" });
    for await (const parts of stream) {
      collector.add(parts);
      yield parts;
    }
    for (const { message } of collector.completion().choices)
      signatures.remember(client, channel, message);
  });
}
