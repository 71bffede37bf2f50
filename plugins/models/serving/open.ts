/** Takes an HTTP request to the beginning of its response, with all events and headers, for every client format. */
import type { ServerResponse } from "node:http";
import { type Call, isPorticoError, type PorticoError } from "portico";
import type { ChatCompletion, ChatRequest, NativeRequest } from "portico/provider";
import { type ChatMeter, keySession } from "portico/models";
import { type ChatResponse, completionBytes, completionOf } from "../chat-response.ts";
import type { Emitter } from "../events.ts";
import { JobEnd, offerRequest, type Report, reportResponse } from "./ask.ts";
import { replyResponse } from "../sending/reply.ts";
import { offerResponse, watchesSending } from "../sending/offer-response.ts";
import { converse } from "../routing/attempts.ts";
import { clientDisconnected, Job, type JobOptions } from "../job.ts";
import type { RawBody } from "../openai/members.ts";
import { meterFor } from "./metering.ts";
import { prefixCompletion, prefixStream } from "../sending/prefix.ts";
import { lastUserIndex, textOf, withLastUserText } from "../openai/request.ts";
import { admit, type Endpoint, filterUsable } from "./access.ts";
import { type ClientForm, errorInForm } from "./error-form.ts";
import { tagsOf } from "./tags.ts";
import { withSuggestion } from "./model-routes.ts";
import { errors } from "../errors.ts";

/** A parsed and validated request. */
export interface Incoming {
  request: ChatRequest;
  /** Models to fall back to after the request's own model. */
  fallbacks: readonly string[];
  stream: boolean;
  /** The bytes that the caller sent, if they are in OpenAI's format. */
  raw?: RawBody | undefined;
  /** The caller's request, if it is in another format that a provider may support, too. */
  native?: NativeRequest | undefined;
  /** The error for a target that does not support that format. */
  refusal?: PorticoError | undefined;
  /** The request is translated, and its response will be: a whole response must be parsed before it is sent. */
  translated?: boolean;
  /** The members that the translation dropped. */
  dropped?: readonly string[];
  /** The format of the client's errors. Default: OpenAI's. */
  form?: ClientForm;
}

export interface Opened {
  endpoint: Endpoint;
  call: Call;
  job: Job;
  response: ChatResponse;
}

/**
 * Reads the request, offers it to hooks, requests the response, and passes it to `write`. An error on the way, also in
 * `write`, cancels everything opened so far; so does a client that disconnects, also while the response is written.
 * After an error, the trace is in the headers of `call.res`.
 */
export async function openChat<T>(
  endpoint: Endpoint,
  call: Call,
  read: (body: Buffer) => Incoming,
  write: (opened: Opened) => T,
): Promise<T> {
  const incoming = read(await call.body());
  const { request } = incoming;
  const job = jobOf(endpoint, call, incoming);
  let end: JobEnd | undefined;
  let isRequesting = false;
  try {
    const admission = admit(endpoint, call, request.model);
    if (admission !== undefined) {
      await admission;
      job.fallbacks = await filterUsable(endpoint, call.client, job.fallbacks);
    }
    const hookOutput = isOffered(endpoint.events) ? await offer(endpoint.events, job) : NO_MESSAGES;
    if (job.cancelled) throw clientDisconnected();
    const isReply = typeof hookOutput === "string";
    if (!isReply) applyHookOutput(job, incoming, hookOutput);
    isRequesting = !isReply;
    end = createEnd(endpoint, job, isRequesting);
    let response = isReply ? replyResponse(job, hookOutput) : await converse(endpoint.engine, job);
    if (job.isJudged) response = await offerResponse(endpoint.events, job, response);
    const counting = end.recordSuccess(response);
    if (counting !== undefined) await counting;
    isRequesting = false;
    if (!isReply) finish(response, job, incoming, hookOutput);
    return write({ endpoint, call, job, response });
  } catch (error) {
    await end?.recordFailure(error);
    if (isRequesting) markFailure(call.res, job, error);
    job.cancel();
    const { form = "openai" } = incoming;
    throw errorInForm(await withSuggestion(endpoint, call.client, error), form, request);
  }
}

function jobOf(endpoint: Endpoint, call: Call, incoming: Incoming): Job {
  const { request, fallbacks, raw, native, translated, refusal, stream } = incoming;
  const job = jobForCall(endpoint, call, {
    request,
    fallbacks,
    raw,
    native,
    translated,
    refusal,
    stream,
    sessionKey: sessionKeyOf(call, request["user"]),
    metadata: request["metadata"] ?? native?.body["metadata"],
  });
  const caching = call.req.headers["cache-control"];
  job.cacheable = caching === undefined || !NO_STORE.test(caching);
  return job;
}

/** The options that `jobForCall` sets. */
type CallOptions = "requestId" | "client" | "traceparent";

/**
 * Creates the job of an HTTP request. It is cancelled when the client disconnects, and appears in the request's log
 * line and to its watchers from now on.
 */
export function jobForCall(
  { meters }: Pick<Endpoint, "meters">,
  call: Call,
  { metadata, ...options }: Omit<JobOptions, CallOptions> & { metadata: unknown },
): Job {
  const { client } = call;
  const traceparent = call.req.headers["traceparent"] as string | undefined;
  const job = new Job({ ...options, requestId: call.id, client, traceparent });
  job.tags = tagsOf(call.req.headers["x-portico-tags"], metadata);
  job.story.tags = job.tags;
  keepContent(job, meters());
  call.subject = job.story;
  call.onDisconnect(() => job.cancel());
  return job;
}

/** Makes the job's story keep prompt and response if a meter requires it. */
export function keepContent(job: Job, meters: readonly ChatMeter[]): void {
  if (!meters.some((meter) => meter.keepsContent?.(job.client) === true)) return;
  job.story.content = { messages: job.members ?? job.request.messages, response: undefined };
}

const NO_STORE = /(?:^|[,\s])no-store(?:[,\s]|$)/i;

function isOffered(events: Emitter): boolean {
  return events.hasListeners("message:received") || events.hasListeners("chat:request");
}

/** Returns the reply of a hook as a text, or else the messages that hooks pushed. */
async function offer(events: Emitter, job: Job): Promise<string | string[]> {
  const pushed = events.hasListeners("message:received")
    ? await offerMessage(events, job)
    : NO_MESSAGES;
  if (job.cancelled) throw clientDisconnected();
  if (typeof pushed === "string" || !events.hasListeners("chat:request")) return pushed;
  return (await offerRequest(events, job)) ?? pushed;
}

function applyHookOutput(job: Job, incoming: Incoming, pushed: string[]): void {
  // The response may pass as bytes if nothing has to parse it.
  job.mayPassRaw = !incoming.stream && !job.translated && pushed.length === 0;
  if (pushed.length > 0) translateTexts(job);
}

function finish(response: ChatResponse, job: Job, { dropped }: Incoming, pushed: string[]): void {
  if (response.native !== true && dropped !== undefined)
    job.trace.dropped = [...dropped, ...job.trace.dropped];
  if (pushed.length > 0) prefix(response, pushed, job.request);
}

/**
 * Decides who is notified of the end, which decides the form of the response. `isRequested`: a model is requested, so there
 * is usage to report and to count.
 */
function createEnd(endpoint: Endpoint, job: Job, isRequested: boolean): JobEnd {
  const { events } = endpoint;
  const emitsResponse = isRequested && events.hasListeners("chat:response");
  const emitsSent = events.hasListeners("message:sent");
  job.isJudged = watchesSending(events);
  const isRead = emitsResponse || emitsSent || job.story.content !== undefined;
  if (isRead) job.capture = true;
  if (isRead || job.isJudged) job.mayPassRaw = false;
  return new JobEnd(
    job,
    emitsResponse || emitsSent
      ? (report) => emitEnd(events, job, report, { emitsResponse, emitsSent })
      : undefined,
    isRequested ? meterFor(endpoint, job) : undefined,
  );
}

/**
 * Texts are put in front of the response. If the native format repeats texts in later events, only a translated stream
 * allows that.
 */
function translateTexts(job: Job): void {
  if (job.native?.repeatsTexts === true) job.native = undefined;
}

const NO_MESSAGES: string[] = [];

/** Returns the session key. A client key has its own sessions, whatever name it sends. */
export function sessionKeyOf({ req, client }: Call, user: unknown): string {
  const name = readSessionName(req.headers["x-portico-session"], user);
  return client.kind === "key" ? keySession(client.key ?? "", name) : name;
}

const MAX_SESSION_LENGTH = 256;

function readSessionName(header: unknown, user: unknown): string {
  if (typeof header === "string" && header.length > MAX_SESSION_LENGTH)
    throw errors.sessionNameTooLong(
      { longest: MAX_SESSION_LENGTH },
      { param: "x-portico-session" },
    );
  if (typeof header === "string" && header !== "") return header;
  return typeof user === "string" && user !== "" ? `chat:${user}` : "chat";
}

/** Sets the headers of an error: the target, and whether the client should retry. */
export function markFailure(res: ServerResponse, job: Job, error: unknown): void {
  if (job.trace.attempts > 0 || job.trace.channel !== "") setTrace(res, job);
  if (isPorticoError(error) && isFinal(error)) res.setHeader("x-should-retry", "false");
  if (isPorticoError(error) && error.status === 429 && error.headers?.["retry-after"] === undefined)
    res.setHeader("retry-after", "1");
}

/**
 * Whether the same request would fail again. Clients should wait for failures that end by themselves (a limit, an
 * overload, a broken connection).
 */
function isFinal({ status, code }: PorticoError): boolean {
  return code === "upstream_auth" || (status >= 400 && status < 500 && status !== 429);
}

/** Returns the headers that name the target of a response, in addition to the given ones. */
export function traceOf(job: Job, headers: Record<string, string> = {}): Record<string, string> {
  const { trace, cost } = job;
  job.story.headers = headers;
  const { channel, model, attempts, dropped, changed, cache } = trace;
  if (cost !== undefined) headers["x-portico-cost"] = formatCost(cost);
  headers["x-portico-attempts"] = String(attempts);
  // A hook has replied, so there is no target.
  if (attempts === 0 && channel === "") return headers;
  headers["x-portico-channel"] = headerSafe(channel);
  headers["x-portico-model"] = headerSafe(model).slice(0, MAX_LISTED);
  if (cache !== undefined) headers["x-portico-cache"] = cache;
  if (dropped.length > 0) headers["x-portico-dropped"] = joinPaths(new Set(dropped));
  if (changed.length > 0) headers["x-portico-changed"] = joinPaths(new Set(changed));
  return headers;
}

/** Formats US dollars without an exponent, which not every client can parse. */
function formatCost(cost: number): string {
  return cost === 0 ? "0" : cost.toFixed(10).replace(/0+$/, "").replace(/\.$/, "");
}

/** Clients accept only some kilobytes of headers. */
const MAX_LISTED = 4000;

function joinPaths(paths: ReadonlySet<string>): string {
  const names: string[] = [];
  let length = 0;
  for (const path of paths) {
    const encoded = headerSafe(path).replaceAll(",", "%2C");
    length += encoded.length + 2;
    if (length > MAX_LISTED) return [...names, `and ${paths.size - names.length} more`].join(", ");
    names.push(encoded);
  }
  return names.join(", ");
}

export function setTrace(res: ServerResponse, job: Job): void {
  if (res.destroyed) return;
  const headers = traceOf(job);
  for (const name in headers) res.setHeader(name, headers[name]!);
}

function headerSafe(text: string): string {
  return text.toWellFormed().replace(/[^\x20-\x7e]+/g, encodeURIComponent);
}

function prefix(response: ChatResponse, pushed: string[], request: ChatRequest): void {
  if (response.stream !== undefined)
    response.stream = prefixStream(response.stream, pushed, request);
  else if (response.bytes === undefined)
    setCompletion(response, prefixCompletion(completionOf(response), pushed, request));
}

function setCompletion(response: ChatResponse, completion: ChatCompletion): void {
  response.completion = completion;
  response.body = completionBytes(completion);
  response.native = false;
}

/**
 * Emits `message:received` with the last user message. A hook may change the text, reply (the reply is returned), or
 * refuse. Otherwise returns what hooks pushed on `event.messages`, which is put in front of the response.
 */
export async function offerMessage(events: Emitter, job: Job): Promise<string[] | string> {
  const index = lastUserIndex(job.request.messages);
  if (index === -1) return NO_MESSAGES;
  const content = textOf(job.request.messages[index]);
  const from = job.client.key;
  const result = await events.emit(
    "message:received",
    { content, source: "chat", model: job.request.model, from },
    job.emitOptions,
  );
  if (result.refusal) throw result.refusal;
  if (result.reply !== undefined) return [...result.messages, result.reply].join("\n\n");
  if (result.context.content !== content) {
    job.request = withLastUserText(job.request, result.context.content);
    job.raw = undefined;
    job.native = undefined;
  }
  return result.messages;
}

function emitEnd(
  events: Emitter,
  job: Job,
  report: Report,
  { emitsResponse, emitsSent }: { emitsResponse: boolean; emitsSent: boolean },
): void {
  if (emitsResponse) reportResponse(events, job, report);
  if (emitsSent && report.error === undefined && report.content !== undefined)
    sendMessage(events, job, report.content);
}

function sendMessage(events: Emitter, job: Job, content: string): void {
  const to = job.client.key;
  void events.emit(
    "message:sent",
    {
      content,
      source: "chat",
      model: job.trace.model === "" ? job.request.model : job.trace.model,
      to,
    },
    job.emitOptions,
  );
}
