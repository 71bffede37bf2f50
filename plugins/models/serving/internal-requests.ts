/** Serves requests from inside the gateway: from the agent, hooks and other plugins. */
import { type Client, currentPrincipal, type Principal, principalOf } from "portico";
import type { ChatOptions } from "portico/models";
import {
  type ChatChunk,
  type ChatCompletion,
  ChunkEncoder,
  type ChatRequest,
  newCompletionId,
  type StreamPart,
  wantsUsage,
} from "portico/provider";
import { type ChatResponse, completionOf } from "../chat-response.ts";
import { Job } from "../job.ts";
import { readRequest } from "../openai/read-request.ts";
import { converse } from "../routing/attempts.ts";
import { replyResponse } from "../sending/reply.ts";
import type { Endpoint } from "./access.ts";
import { requestResponse, offerRequest, type Report, reportResponse } from "./ask.ts";
import { meterFor } from "./metering.ts";
import { keepContent } from "./open.ts";

/** The client for requests without one, used for counting. `principalFor` decides on whose behalf they are made. */
const OWNER: Client = { kind: "owner" };

/** `ModelsService.complete`. */
export async function complete(
  endpoint: Endpoint,
  request: ChatRequest,
  options: ChatOptions,
): Promise<ChatCompletion> {
  const job = await prepareJob(endpoint, request, options, false);
  const stopListening = cancelOn(options.signal, job);
  try {
    return completionOf(await askModel(endpoint, job));
  } catch (error) {
    throw job.cancelled ? options.signal?.reason : error;
  } finally {
    stopListening();
  }
}

/** `ModelsService.parts`. */
export async function* streamParts(
  endpoint: Endpoint,
  request: ChatRequest,
  options: ChatOptions,
): AsyncGenerator<readonly StreamPart[]> {
  const job = await prepareJob(endpoint, request, options, true);
  const stopListening = cancelOn(options.signal, job);
  let hasEnded = false;
  try {
    const { stream } = await askModel(endpoint, job);
    yield* stream!;
    hasEnded = true;
    if (job.cancelled) throw options.signal?.reason;
  } catch (error) {
    throw job.cancelled ? (options.signal?.reason ?? error) : error;
  } finally {
    stopListening();
    if (!hasEnded) job.cancel();
  }
}

/** `ModelsService.stream`. */
export async function* streamChunks(
  endpoint: Endpoint,
  request: ChatRequest,
  options: ChatOptions,
): AsyncGenerator<ChatChunk> {
  const chunks: ChatChunk[] = [];
  const head = { id: newCompletionId(), created: 0, model: request.model };
  const encoder = new ChunkEncoder(
    { ...head, includeUsage: wantsUsage(request) },
    {
      chunk: (chunk) => void chunks.push(chunk),
      // The caller gets a copy, because features may keep the event while the caller may modify the chunk.
      event: ({ json }) => void chunks.push(JSON.parse(json) as ChatChunk),
      comment() {},
    },
  );
  for await (const parts of streamParts(endpoint, request, options)) {
    encoder.write(parts);
    yield* chunks.splice(0);
  }
  encoder.end();
  yield* chunks.splice(0);
}

async function prepareJob(
  endpoint: Endpoint,
  request: ChatRequest,
  options: ChatOptions,
  stream: boolean,
): Promise<Job> {
  const { events, meters } = endpoint;
  const { request: checked, fallbacks } = readRequest({ ...request, stream });
  const job = new Job({
    request: checked,
    fallbacks,
    stream,
    requestId: options.requestId ?? `int_${Math.random().toString(36).slice(2, 12)}`,
    client: options.client ?? OWNER,
    principal: principalFor(options),
    sessionKey: options.sessionKey ?? "main",
    channel: options.channel,
    ownStreamOptions: true,
  });
  job.cacheable = options.channel === undefined;
  job.story.isInternal = true;
  keepContent(job, meters());
  const emitsEvents = options.events !== false;
  if (emitsEvents && events.hasListeners("chat:request"))
    job.reply = await offerRequest(events, job);
  job.capture = emitsEvents && events.hasListeners("chat:response");
  return job;
}

function principalFor({ principal, client }: ChatOptions): Principal {
  if (principal !== undefined) return principal;
  return client === undefined ? currentPrincipal() : principalOf(client);
}

/**
 * Cancels the job when the caller aborts its signal. Returns a function that removes the listener, since the signal may
 * outlive the job.
 */
function cancelOn(signal: AbortSignal | undefined, job: Job): () => void {
  if (signal === undefined) return () => {};
  const cancel = () => job.cancel();
  if (signal.aborted) cancel();
  else signal.addEventListener("abort", cancel, { once: true });
  return () => signal.removeEventListener("abort", cancel);
}

/** Sends the request to the model, unless a hook has replied in its place, and reports the end. */
function askModel(endpoint: Endpoint, job: Job): Promise<ChatResponse> {
  const { engine, events } = endpoint;
  const report = (result: Report) => reportResponse(events, job, result);
  const send = async () =>
    job.reply === undefined ? converse(engine, job) : replyResponse(job, job.reply);
  return requestResponse(send, job, job.capture ? report : undefined, meterFor(endpoint, job));
}
