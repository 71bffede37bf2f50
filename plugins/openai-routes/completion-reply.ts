/** Builds the response of `POST /v1/completions` from a hook's text. */

export function completionReply(
  requestId: string,
  model: string,
  text: string,
  stream: boolean,
): { contentType: string; body: string } {
  const completion = {
    id: `cmpl-${requestId}`,
    object: "text_completion",
    created: Math.floor(Date.now() / 1000),
    model,
    choices: [{ text, index: 0, logprobs: null, finish_reason: "stop" }],
  };
  if (stream)
    return {
      contentType: "text/event-stream; charset=utf-8",
      body: `data: ${JSON.stringify(completion)}\n\ndata: [DONE]\n\n`,
    };
  const usage = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };
  return { contentType: "application/json", body: JSON.stringify({ ...completion, usage }) };
}
