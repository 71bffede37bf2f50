/** `POST /v1/chat/completions`: reads the request, asks the engine, and writes the response. */
import { type Call, checkJsonType, reply } from "portico";
import { type ModelsService, type OpenedCompletion, parseBody, rawBody } from "portico/models";
import { newCompletionId, OpenAiEncoder } from "portico/provider";

/** Serves one request. It throws only before the response begins. */
export async function createCompletion(models: ModelsService, call: Call): Promise<unknown> {
  checkJsonType(call.req);
  const bytes = await call.body();
  const raw = rawBody(bytes);
  const opened = await models.openCompletion(call, parseBody(bytes, call.limits, raw), raw);
  if (opened.kind === "whole")
    return reply(200, opened.body, { "content-type": "application/json; charset=utf-8" });
  void (opened.kind === "bytes" ? opened.pipe() : opened.pipe(encoderOf(opened)));
  return undefined;
}

function encoderOf({
  model,
  includeUsage,
  functionCalls,
}: OpenedCompletion & { kind: "stream" }): OpenAiEncoder {
  const created = Math.floor(Date.now() / 1000);
  const id = newCompletionId();
  return new OpenAiEncoder({ id, created, model, includeUsage, functionCalls });
}
