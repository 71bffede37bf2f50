/** Takes an HTTP request to the response's beginning, with all events and headers: the same for every client format. */
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
import { admit, type Endpoint, usable } from "./access.ts";
import { type ClientForm, errorInForm } from "./error-form.ts";
import { tagsOf } from "./tags.ts";
import { withNearest } from "./model-routes.ts";
import { errors } from "../errors.ts";

/** A request that was read and checked. */
export interface Incoming {
  request: ChatRequest;
  /** Models to go on to after the request's own. */
  fallbacks: readonly string[];
  stream: boolean;
  /** The caller's own bytes, where they are in OpenAI's form. */
  raw?: RawBody | undefined;
  /** The caller's own request, where it is in another form that a provider may speak too. */
  native?: NativeRequest | undefined;
  /** Why a target that does not speak that form cannot answer it. */
  refusal?: PorticoError | undefined;
  /** The request is a translation, and so will the response be: a whole one must be read before it goes on. */
  translated?: boolean;
  /** What the translation left out. */
  dropped?: readonly string[];
  /** The format of the client's errors; OpenAI's where it is absent. */
  form?: ClientForm;
}

export interface Opened {
  endpoint: Endpoint;
  call: Call;
  job: Job;
  response: ChatResponse;
}

/**
 * Reads the request, offers it to hooks, asks, and hands what comes to `write`. Whatever throws on the way cancels what has been
 * opened by then, `write` included; so does a client that disconnects, now or while the response is written. Where it
 * throws, the trace is in the headers of `call.res`.
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
  let asking = false;
  try {
    const admitted = admit(endpoint, call, request.model);
    if (admitted !== undefined) {
      await admitted;
      job.fallbacks = await usable(endpoint, call.client, job.fallbacks);
    }
    const offered = isOffered(endpoint.events) ? await offer(endpoint.events, job) : NONE;
    if (job.cancelled) throw clientDisconnected();
    const replied = typeof offered === "string";
    if (!replied) prepare(job, incoming, offered);
    asking = !replied;
    end = endOf(endpoint, job, asking);
    let response = replied ? replyResponse(job, offered) : await converse(endpoint.engine, job);
    if (job.leaves) response = await offerResponse(endpoint.events, job, response);
    const counting = end.succeeded(response);
    if (counting !== undefined) await counting;
    asking = false;
    if (!replied) finish(response, job, incoming, offered);
    return write({ endpoint, call, job, response });
  } catch (error) {
    await end?.failed(error);
    if (asking) markFailure(call.res, job, error);
    job.cancel();
    const { form = "openai" } = incoming;
    throw errorInForm(await withNearest(endpoint, call.client, error), form, request);
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

/** What `jobForCall` adds to the rest. */
type OfCall = "requestId" | "client" | "traceparent";

/**
 * The job of an HTTP request: it is cancelled when its client disconnects, and the request's log line and watchers know
 * it from now on.
 */
export function jobForCall(
  { meters }: Pick<Endpoint, "meters">,
  call: Call,
  { metadata, ...options }: Omit<JobOptions, OfCall> & { metadata: unknown },
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

/** Has the job's story hold prompt and response if a meter asks for it. */
export function keepContent(job: Job, meters: readonly ChatMeter[]): void {
  if (!meters.some((meter) => meter.keepsContent?.(job.client) === true)) return;
  job.story.content = { messages: job.members ?? job.request.messages, response: undefined };
}

const NO_STORE = /(?:^|[,\s])no-store(?:[,\s]|$)/i;

function isOffered(events: Emitter): boolean {
  return events.hasListeners("message:received") || events.hasListeners("chat:request");
}

/** A text where a hook has answered, else what hooks pushed. */
async function offer(events: Emitter, job: Job): Promise<string | string[]> {
  const pushed = events.hasListeners("message:received") ? await offerMessage(events, job) : NONE;
  if (job.cancelled) throw clientDisconnected();
  if (typeof pushed === "string" || !events.hasListeners("chat:request")) return pushed;
  return (await offerRequest(events, job)) ?? pushed;
}

function prepare(job: Job, incoming: Incoming, pushed: string[]): void {
  // Nothing has to look into the response.
  job.mayPassRaw = !incoming.stream && !job.translated && pushed.length === 0;
  if (pushed.length > 0) translateTexts(job);
}

function finish(response: ChatResponse, job: Job, { dropped }: Incoming, pushed: string[]): void {
  if (response.native !== true && dropped !== undefined)
    job.trace.dropped = [...dropped, ...job.trace.dropped];
  if (pushed.length > 0) prefix(response, pushed, job.request);
}

/** Decides who gets the end, and with that the form of the response. `asked`: a model is asked, so there is something to report and to count. */
function endOf(endpoint: Endpoint, job: Job, asked: boolean): JobEnd {
  const { events } = endpoint;
  const reports = asked && events.hasListeners("chat:response");
  const sent = events.hasListeners("message:sent");
  job.leaves = watchesSending(events);
  const isRead = reports || sent || job.story.content !== undefined;
  if (isRead) job.capture = true;
  if (isRead || job.leaves) job.mayPassRaw = false;
  return new JobEnd(
    job,
    reports || sent ? (report) => emitEnd(events, job, report, { reports, sent }) : undefined,
    asked ? meterFor(endpoint, job) : undefined,
  );
}

/** Texts are put in front: where events repeat texts as a whole, only a translation can follow. */
function translateTexts(job: Job): void {
  if (job.native?.repeatsTexts === true) job.native = undefined;
}

const NONE: string[] = [];

/** A client key's sessions are its own, whatever it names. */
export function sessionKeyOf({ req, client }: Call, user: unknown): string {
  const named = sessionNamed(req.headers["x-portico-session"], user);
  return client.kind === "key" ? keySession(client.key ?? "", named) : named;
}

const LONGEST_SESSION = 256;

function sessionNamed(header: unknown, user: unknown): string {
  if (typeof header === "string" && header.length > LONGEST_SESSION)
    throw errors.sessionNameTooLong({ longest: LONGEST_SESSION }, { param: "x-portico-session" });
  if (typeof header === "string" && header !== "") return header;
  return typeof user === "string" && user !== "" ? `chat:${user}` : "chat";
}

/** Headers of an error: where it came from, and whether asking again is of use. */
export function markFailure(res: ServerResponse, job: Job, error: unknown): void {
  if (job.trace.attempts > 0 || job.trace.channel !== "") setTrace(res, job);
  if (isPorticoError(error) && isFinal(error)) res.setHeader("x-should-retry", "false");
  if (isPorticoError(error) && error.status === 429 && error.headers?.["retry-after"] === undefined)
    res.setHeader("retry-after", "1");
}

/**
 * True if the same request would only fail again. Clients should wait for failures that end by themselves (a limit, an
 * overload, a broken connection).
 */
function isFinal({ status, code }: PorticoError): boolean {
  return code === "upstream_auth" || (status >= 400 && status < 500 && status !== 429);
}

/** Where a response came from, beside the headers that it has. */
export function traceOf(job: Job, headers: Record<string, string> = {}): Record<string, string> {
  const { trace, cost } = job;
  job.story.headers = headers;
  const { channel, model, attempts, dropped, changed, cache } = trace;
  if (cost !== undefined) headers["x-portico-cost"] = decimal(cost);
  headers["x-portico-attempts"] = String(attempts);
  // A hook has answered.
  if (attempts === 0 && channel === "") return headers;
  headers["x-portico-channel"] = headerSafe(channel);
  headers["x-portico-model"] = headerSafe(model).slice(0, MAX_LISTED);
  if (cache !== undefined) headers["x-portico-cache"] = cache;
  if (dropped.length > 0) headers["x-portico-dropped"] = listed(new Set(dropped));
  if (changed.length > 0) headers["x-portico-changed"] = listed(new Set(changed));
  return headers;
}

/** US dollars without an exponent, which not every client reads. */
function decimal(cost: number): string {
  return cost === 0 ? "0" : cost.toFixed(10).replace(/0+$/, "").replace(/\.$/, "");
}

/** Clients take some kilobytes of headers. */
const MAX_LISTED = 4000;

function listed(paths: ReadonlySet<string>): string {
  const named: string[] = [];
  let length = 0;
  for (const path of paths) {
    const safe = headerSafe(path).replaceAll(",", "%2C");
    length += safe.length + 2;
    if (length > MAX_LISTED) return [...named, `and ${paths.size - named.length} more`].join(", ");
    named.push(safe);
  }
  return named.join(", ");
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
 * `message:received` with the last user message. A hook may change the text, answer (the text is returned), or refuse.
 * Else what hooks pushed on `event.messages` is returned: it goes in front of the response.
 */
export async function offerMessage(events: Emitter, job: Job): Promise<string[] | string> {
  const at = lastUserIndex(job.request.messages);
  if (at === -1) return NONE;
  const content = textOf(job.request.messages[at]);
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
  wanted: { reports: boolean; sent: boolean },
): void {
  if (wanted.reports) reportResponse(events, job, report);
  if (wanted.sent && report.error === undefined && report.content !== undefined)
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
