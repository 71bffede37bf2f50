/** OpenAI's routes beside chat: the same keys, routing, fail-over, usage and events; bodies pass unchanged. */
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
import { ask, type Report, reportResponse } from "./ask.ts";
import { meterFor } from "./metering.ts";
import { admit, type Endpoint, usable } from "./access.ts";
import { withNearest } from "./model-routes.ts";
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
    job.fallbacks = await usable(endpoint, call.client, request.fallbacks ?? []);
    const { events } = endpoint;
    const reply = events.hasListeners("message:received") ? await offerMessage(events, job) : [];
    if (job.cancelled) throw clientDisconnected();
    if (typeof reply === "string") {
      const judged = judgesRoute(events, request.route) && events.hasHandlers("message:sending");
      writeReply(call, job, request, judged ? await offerText(events, job, reply) : reply);
    } else {
      const response = await begin(endpoint, call, request, job);
      await endpoint.busy(writeForwarded(endpoint, call, job, response));
    }
  } catch (error) {
    job.cancel();
    if (!call.res.headersSent) markFailure(call.res, job, error);
    throw await withNearest(endpoint, call.client, error);
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
    ? (ended: Report) => reportResponse(events, job, { ...ended, content: undefined })
    : undefined;
  const text = changedText(job, request);
  const { route } = request;
  const refuse = (channel: string) =>
    unsupported(endpoint, route, channel, (able) => able.wire?.routes?.[route]);
  const provider = (name: string) =>
    forwarder(engine.provider(name), shapedBy(job, request), text, refuse);
  try {
    const talk = () => converse({ ...engine, provider }, job);
    const judged = judgesRoute(events, request.route);
    return await ask(
      judged ? async () => offerForwarded(events, job, await talk()) : talk,
      job,
      report,
      meter && ((end) => meter({ ...end, usage: usageOf(end.usage) })),
    );
  } catch (error) {
    markFailure(call.res, job, error);
    throw error;
  }
}

/** The request as the alias of the target that is asked shapes it: a text completion; what is no chat goes as it is. */
function shapedBy(job: Job, request: ForwardRequest): ForwardRequest {
  const shape = request.route === "completions" ? job.shapedBy?.completion : undefined;
  const { fields: given } = request;
  if (shape === undefined || given === undefined) return request;
  const fields = (text: string | undefined) => shape(given(text));
  return { ...request, fields, body: (model, text) => stringifyExact({ ...fields(text), model }) };
}

/** Undefined where hooks left the text as it was. */
function changedText(job: Job, { text }: ForwardRequest): string | undefined {
  const now = text === undefined ? undefined : textOf(job.request.messages[0]);
  return now === text ? undefined : now;
}

/** The provider as one that is asked for this route where chat would be asked. */
function forwarder(
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
    return { name, complete: async () => untranslated(name, stream) };
  const route: WireRoute = {
    encode: (_, target) => {
      const sent = wellFormedValue({ ...fields, model: target.model }, "", () => {});
      return form.encode(sent as Record<string, unknown>, target);
    },
    decode(body, sent, target) {
      const decoded = form.decode(body, sent, target);
      if (stream) throw upstreamError({ kind: "upstream", message: NO_STREAM }, 200);
      // Anyone who reads it takes any JSON.
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

/** The error of a channel that has no such route; it names those whose provider does. */
export function unsupported(
  { engine }: Endpoint,
  route: ApiRoute | "embeddings",
  channel: string,
  has: (provider: ChatProvider) => unknown,
): never {
  const isAble = (one: Channel) => {
    const provider = engine.provider(one.config.provider);
    return one.enabled && provider !== undefined && has(provider) !== undefined;
  };
  const able = [...engine.routing.channels().values()].filter(isAble).map((one) => one.name);
  const where =
    able.length === 0
      ? "No configured channel supports it"
      : `These channels support it: ${able.join(", ")}`;
  throw errors.endpointUnsupported({ channel, route, where }, { param: "model" });
}

function untranslated(provider: string, stream: boolean): never {
  if (stream) throw errors.streamNotTranslated({ provider }, { param: "stream" });
  throw errors.formNotTranslated({ provider });
}

function writeReply({ res }: Call, job: Job, { reply }: ForwardRequest, text: string): void {
  if (reply === undefined) throw errors.replyNotPossible();
  const { contentType, body } = reply(text);
  res.writeHead(200, { ...traceOf(job), "content-type": contentType });
  res.end(body);
}

/** Images and transcriptions count input and output. */
function usageOf(usage: Usage | undefined): Usage | undefined {
  if (usage === undefined) return undefined;
  const { input_tokens: input, output_tokens: output } = usage as {
    input_tokens?: unknown;
    output_tokens?: unknown;
  };
  if (typeof input !== "number") return typeof usage.prompt_tokens === "number" ? usage : undefined;
  const written = typeof output === "number" ? output : 0;
  return { prompt_tokens: input, completion_tokens: written, total_tokens: input + written };
}
