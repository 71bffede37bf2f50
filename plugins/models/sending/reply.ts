/** Creates the response for a hook that replies in place of a model. */
import { type ChatResponse, completionBytes } from "../chat-response.ts";
import type { Job } from "../job.ts";
import { NO_TOKENS, newCompletionId, partsOfCompletion, textCompletion } from "portico/provider";
import { partStream } from "../streams/flow.ts";

/** Returns the reply in the form of a model's response. */
export function replyResponse(job: Job, text: string): ChatResponse {
  const completion = textCompletion(
    { id: newCompletionId(), created: Math.floor(Date.now() / 1000), model: job.request.model },
    text,
    NO_TOKENS,
  );
  const response: ChatResponse = { firstByteMs: 0 };
  if (!job.stream) {
    return { ...response, completion, body: completionBytes(completion) };
  }
  return { ...response, stream: partStream(partsOfCompletion(completion)) };
}
