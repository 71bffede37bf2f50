/** The routes: they read a request, ask the engine through the service `models`, and answer in Anthropic's form. */
import { type Call, reply } from "portico";
import { type ModelsService, jsonBody } from "portico/models";
import { estimateTokens, type NativeRequest, bodyObject, stringifyExact } from "portico/provider";
import { messageOf, nativeMessage } from "./response.ts";
import { readMessages } from "./request.ts";
import { MessagesEncoder } from "./stream.ts";

/** Headers of the client that belong to the format. A channel that speaks it receives them. */
const OWN_HEADERS = ["anthropic-version", "anthropic-beta"];

export async function createMessage(chat: ModelsService, call: Call): Promise<unknown> {
  call.res.setHeader("request-id", call.id);
  const body = bodyObject(await jsonBody(call), "`model`, `max_tokens` and `messages`");
  const { request, dropped } = readMessages(body);
  const opened = await chat.open(call, request, {
    body,
    stream: request.stream === true,
    native: nativeOf(call, body),
    dropped,
  });
  const estimate = () => estimateTokens(body.messages, body.system, body.tools);
  if (opened.kind === "stream") {
    void opened.pipe(new MessagesEncoder(request.model, call.id, estimate));
    return undefined;
  }
  const { native, completion } = opened;
  const message =
    native === undefined
      ? messageOf(completion, request.model, estimate)
      : nativeMessage(native, completion, request.model);
  return reply(200, stringifyExact(message), { "content-type": "application/json" });
}

function nativeOf(call: Call, body: Record<string, unknown>): NativeRequest {
  const headers: Record<string, string> = {};
  for (const name of OWN_HEADERS) {
    const value = call.req.headers[name];
    if (typeof value === "string") headers[name] = value;
  }
  return { form: "anthropic", body, headers };
}

/** Asks the upstream for the count if it has a route for it, and estimates it for others. */
export async function countTokens(
  chat: ModelsService,
  call: Call,
): Promise<{ input_tokens: number }> {
  call.res.setHeader("request-id", call.id);
  const body = bodyObject(await jsonBody(call), "`model` and `messages`");
  // The count does not depend on `max_tokens`; all other members must be well-formed.
  const { request } = readMessages({ ...body, max_tokens: 1 });
  const counted = await chat.countTokens(call, request, nativeOf(call, body));
  return { input_tokens: counted ?? estimateTokens(body.messages, body.system, body.tools) };
}
