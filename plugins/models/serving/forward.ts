/**
 * Serves OpenAI's routes other than chat with the same keys, routing, fallbacks, usage and events. Bodies pass
 * unchanged.
 */
import type { Call } from "portico";
import {
  type ApiRoute,
  type ChatProvider,
  stringifyExact,
  upstreamError,
  type Usage,
  wellFormedValue,
  type WireRequest,
} from "portico/provider";
import type { ForwardRequest } from "portico/models";
import type { Channel } from "../routing/channel.ts";
import type { ChatResponse } from "../chat-response.ts";
import { clientDisconnected, type Job } from "../job.ts";
import { checkMembers } from "../openai/read-request.ts";
import { textOf } from "../openai/request.ts";
import { converse } from "../routing/attempts.ts";
import { requestResponse, type Report, reportResponse } from "./ask.ts";
import { meterFor } from "./metering.ts";
import { admit, type Endpoint, filterUsable } from "./access.ts";
import { withSuggestion } from "./model-routes.ts";
import { judgesRoute, offerForwarded } from "../sending/offer-forwarded.ts";
import { offerText } from "../sending/offer-response.ts";
import { jobForCall, markFailure, offerMessage, sessionKeyOf, traceOf } from "./open.ts";
import type { WireRoute } from "../upstream/attempt.ts";
import { writeForwarded } from "./writing/write-forwarded.ts";
import { errors } from "../errors.ts";

export async function forward(
  endpoint: Endpoint,
  call: Call,
  request: ForwardRequest,
): Promise<void> {
  const { model, text, stream } = request;
  if (request.fields !== undefined) checkMembers(request.fields(undefined), await call.body());
  const members = request.fields?.(undefined);
  const job = jobForCall(endpoint, call, {
    request: { model, messages: text === undefined ? [] : [{ role: "user", content: text }] },
    stream,
    sessionKey: sessionKeyOf(call, undefined),
    metadata: members?.["metadata"],
  });
  job.members = members;
  try {
    await admit(endpoint, call, model);
    job.fallbacks = await filterUsable(endpoint, call.client, request.fallbacks ?? []);
    const { events } = endpoint;
    const reply = events.hasListeners("message:received") ? await offerMessage(events, job) : [];
    if (job.cancelled) throw clientDisconnected();
    if (typeof reply === "string") {
      const isJudged = judgesRoute(events, request.route) && events.hasHandlers("message:sending");
      writeReply(call, job, request, isJudged ? await offerText(events, job, reply) : reply);
    } else {
      const response = await begin(endpoint, call, request, job);
      await endpoint.busy(writeForwarded(endpoint, call, job, response));
    }
  } catch (error) {
    job.cancel();
    if (!call.res.headersSent) markFailure(call.res, job, error);
    throw await withSuggestion(endpoint, call.client, error);
  }
}

async function begin(
  endpoint: Endpoint,
  call: Call,
  request: ForwardRequest,
  job: Job,
): Promise<ChatResponse> {
  const { engine, events } = endpoint;
  const meter = meterFor(endpoint, job, request.route);
  const report = events.hasListeners("chat:response")
    ? (report: Report) => reportResponse(events, job, { ...report, content: undefined })
    : undefined;
  const text = changedText(job, request);
  const { route } = request;
  const refuse = (channel: string) =>
    failUnsupported(endpoint, route, channel, (able) => able.wire?.routes?.[route]);
  const provider = (name: string) =>
    adaptToRoute(engine.provider(name), applyAlias(job, request), text, refuse);
  try {
    const send = () => converse({ ...engine, provider }, job);
    const isJudged = judgesRoute(events, request.route);
    return await requestResponse(
      isJudged ? async () => offerForwarded(events, job, await send()) : send,
      job,
      report,
      meter && ((end) => meter({ ...end, usage: usageOf(end.usage) })),
    );
  } catch (error) {
    markFailure(call.res, job, error);
    throw error;
  }
}

/**
 * Applies the alias of the current target to a text completion. Other routes stay unchanged, because their members are
 * not those of chat.
 */
function applyAlias(job: Job, request: ForwardRequest): ForwardRequest {
  const shape = request.route === "completions" ? job.shapedBy?.completion : undefined;
  const { fields: originalFields } = request;
  if (shape === undefined || originalFields === undefined) return request;
  const fields = (text: string | undefined) => shape(originalFields(text));
  return { ...request, fields, body: (model, text) => stringifyExact({ ...fields(text), model }) };
}

/** Returns the text that hooks changed, or undefined if it is unchanged. */
function changedText(job: Job, { text }: ForwardRequest): string | undefined {
  const currentText = text === undefined ? undefined : textOf(job.request.messages[0]);
  return currentText === text ? undefined : currentText;
}

/** Adapts the provider so that the routing of chat requests this route from it. */
function adaptToRoute(
  provider: ChatProvider | undefined,
  request: ForwardRequest,
  text: string | undefined,
  refuse: (channel: string) => never,
): ChatProvider | undefined {
  if (provider === undefined) return undefined;
  const { name, defaultBaseUrl, wire } = provider;
  const form = wire?.routes?.[request.route];
  if (wire === undefined || form === undefined)
    return { name, complete: async (_, { channel }) => refuse(channel) };
  const error: typeof wire.error = (status, headers, body) => wire.error(status, headers, body);
  const { credential } = wire;
  if ("forward" in form) {
    const encode = (_: unknown, target: Parameters<typeof form.forward>[0]): WireRequest => {
      const { url, headers } = form.forward(target);
      const body = request.body(target.model, text);
      return {
        method: "POST",
        url,
        headers: { ...headers, "content-type": request.contentType },
        body,
        dropped: [],
        raw: true,
      };
    };
    return { name, defaultBaseUrl, wire: { encode, error, credential } };
  }
  const fields = request.fields?.(text);
  const { stream } = request;
  if (fields === undefined || (stream && form.decoder === undefined))
    return { name, complete: async () => failUntranslated(name, stream) };
  const route: WireRoute = {
    encode: (_, target) => {
      const sent = wellFormedValue({ ...fields, model: target.model }, "", () => {});
      return form.encode(sent as Record<string, unknown>, target);
    },
    decode(body, sent, target) {
      const decoded = form.decode(body, sent, target);
      if (stream) throw upstreamError({ kind: "upstream", message: NO_STREAM }, 200);
      // The code that reads it accepts any JSON.
      return decoded as unknown as ReturnType<NonNullable<typeof wire.decode>>;
    },
    bytes: form.decoder,
    error,
    credential,
  };
  return { name, defaultBaseUrl, wire: route };
}

const NO_STREAM =
  "The upstream did not stream the response, although the request asked for a stream.";

/** Throws the error of a channel without this route. It names the channels whose provider has it. */
export function failUnsupported(
  { engine }: Endpoint,
  route: ApiRoute | "embeddings",
  channel: string,
  has: (provider: ChatProvider) => unknown,
): never {
  const isSupported = (channel: Channel) => {
    const provider = engine.provider(channel.config.provider);
    return channel.enabled && provider !== undefined && has(provider) !== undefined;
  };
  const supporting = [...engine.routing.channels().values()]
    .filter(isSupported)
    .map((channel) => channel.name);
  const where =
    supporting.length === 0
      ? "No configured channel supports this route"
      : `These channels support this route: ${supporting.join(", ")}`;
  throw errors.endpointUnsupported({ channel, route, where }, { param: "model" });
}

function failUntranslated(provider: string, stream: boolean): never {
  if (stream) throw errors.streamNotTranslated({ provider }, { param: "stream" });
  throw errors.formNotTranslated({ provider });
}

function writeReply({ res }: Call, job: Job, { reply }: ForwardRequest, text: string): void {
  if (reply === undefined) throw errors.replyNotPossible();
  const { contentType, body } = reply(text);
  res.writeHead(200, { ...traceOf(job), "content-type": contentType });
  res.end(body);
}

/** Reads the usage of images and transcriptions, which is in `input_tokens` and `output_tokens`. */
function usageOf(usage: Usage | undefined): Usage | undefined {
  if (usage === undefined) return undefined;
  const { input_tokens: inputTokens, output_tokens: output } = usage as {
    input_tokens?: unknown;
    output_tokens?: unknown;
  };
  if (typeof inputTokens !== "number")
    return typeof usage.prompt_tokens === "number" ? usage : undefined;
  const outputTokens = typeof output === "number" ? output : 0;
  return {
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
  };
}
