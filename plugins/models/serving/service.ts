/** The service `models`: models for the agent, hooks and other plugins, with the same routing as for HTTP callers. */
import {
  type Call,
  type Client,
  currentPrincipal,
  type PorticoError,
  type Principal,
  principalOf,
} from "portico";
import type {
  ChatOptions,
  ModelsService,
  OpenedChat,
  OpenedCompletion,
  OpenOptions,
  StreamTranslator,
} from "portico/models";
import {
  type ChatChunk,
  type ChatCompletion,
  ChunkEncoder,
  type ChatRequest,
  newCompletionId,
  type StreamEncoder,
  type StreamPart,
  wantsUsage,
} from "portico/provider";
import { replyResponse } from "../sending/reply.ts";
import { converse } from "../routing/attempts.ts";
import { type ChatResponse, completionOf } from "../chat-response.ts";
import { ask, offerRequest, reportResponse, type Talk } from "./ask.ts";
import { countTokens } from "./count-tokens.ts";
import { forward } from "./forward.ts";
import { Job } from "../job.ts";
import { meterFor } from "./metering.ts";
import type { Endpoint } from "./access.ts";
import { type ClientForm, porticoErrorInForm } from "./error-form.ts";
import { type Incoming, keepContent, openChat, setTrace } from "./open.ts";
import type { ByteStream } from "../streams/flow.ts";
import type { RawBody } from "../openai/members.ts";
import { checkMembers, readRequest } from "../openai/read-request.ts";
import { adaptedTranslator } from "../deprecated.ts";
import { STREAM_HEADERS, writeParts, writeStream } from "./writing/write-stream.ts";

/** A request that was translated into OpenAI's form, with what its own form says of it. */
function readTranslated(request: ChatRequest, options: OpenOptions, bytes: Buffer): Incoming {
  const { stream, body, dropped, refusal } = options;
  checkMembers(body, bytes);
  const read = readRequest({ ...request, stream, models: body["models"] });
  return {
    request: read.request,
    fallbacks: read.fallbacks,
    stream,
    native: read.same ? options.native : undefined,
    dropped,
    refusal,
    form: formOf(options),
    translated: true,
  };
}

function formOf({ native }: OpenOptions): ClientForm {
  return native?.form === "anthropic" ? "anthropic" : "openai";
}

/** A request in OpenAI's form. */
function readOwn(body: unknown, raw: RawBody): Incoming {
  const { request, fallbacks, same } = readRequest(body, raw);
  return { request, fallbacks, raw: same ? raw : undefined, stream: request.stream === true };
}

/** A whole response that is too large to be held. */
function passBytes(call: Call, bytes: ByteStream, { workers }: Endpoint): Promise<void> {
  call.res.writeHead(200, { "content-type": "application/json; charset=utf-8" });
  const written = {
    write: (read: readonly Buffer[]) => read,
    end: () => undefined,
    // Half a JSON body cannot be ended well: the client must see that it is cut.
    fail: () => undefined,
    hasComments: false,
  };
  return writeStream(call, bytes, written, workers);
}

/** Who pays for what is asked from inside. On whose behalf it is asked is another matter. */
const OWNER: Client = { kind: "owner" };

function principalFor({ principal, client }: ChatOptions): Principal {
  if (principal !== undefined) return principal;
  return client === undefined ? currentPrincipal() : principalOf(client);
}

export function createModelsService(
  endpoint: Endpoint,
  defaultModel: (channel?: string) => Promise<string | undefined>,
): ModelsService {
  const { engine, events } = endpoint;

  async function prepare(
    request: ChatRequest,
    options: ChatOptions,
    stream: boolean,
  ): Promise<Job> {
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
    keepContent(job, endpoint.meters());
    if (options.events !== false && events.hasListeners("chat:request"))
      job.reply = await offerRequest(events, job);
    job.capture = options.events !== false && events.hasListeners("chat:response");
    return job;
  }

  /** Leaving is told by the signal; the listener goes with the job. */
  function follow(job: Job, signal: AbortSignal | undefined): () => void {
    if (signal === undefined) return () => {};
    const leave = () => job.cancel();
    if (signal.aborted) leave();
    else signal.addEventListener("abort", leave, { once: true });
    return () => signal.removeEventListener("abort", leave);
  }

  const reporter = (job: Job) =>
    job.capture
      ? (report: Parameters<typeof reportResponse>[2]) => reportResponse(events, job, report)
      : undefined;

  function pipeOf(call: Call, job: Job, { stream }: ChatResponse, form: ClientForm = "openai") {
    // The caller that opened it may break before it is piped, and answer something else.
    call.res.once("close", () => job.cancel());
    return (encoder: StreamEncoder | StreamTranslator) => {
      call.res.writeHead(200, STREAM_HEADERS);
      const own = "write" in encoder ? encoder : adaptedTranslator(encoder);
      const errorFor = (error: PorticoError) => porticoErrorInForm(error, form, job.request);
      return endpoint.busy(writeParts(call, stream!, own, { workers: endpoint.workers, errorFor }));
    };
  }

  async function* parts(
    request: ChatRequest,
    options: ChatOptions = {},
  ): AsyncGenerator<readonly StreamPart[]> {
    const job = await prepare(request, options, true);
    const unfollow = follow(job, options.signal);
    let ended = false;
    try {
      const { stream } = await ask(talk(job), job, reporter(job), meterFor(endpoint, job));
      yield* stream!;
      ended = true;
      if (job.cancelled) throw options.signal?.reason;
    } catch (error) {
      throw job.cancelled ? (options.signal?.reason ?? error) : error;
    } finally {
      unfollow();
      if (!ended) job.cancel();
    }
  }

  /** A hook's reply takes the model's place. */
  const talk =
    (job: Job): Talk =>
    async () =>
      job.reply === undefined ? converse(engine, job) : replyResponse(job, job.reply);

  return {
    mask: (value) => engine.masks.all().value(value),

    async complete(request, options = {}): Promise<ChatCompletion> {
      const job = await prepare(request, options, false);
      const unfollow = follow(job, options.signal);
      try {
        return completionOf(await ask(talk(job), job, reporter(job), meterFor(endpoint, job)));
      } catch (error) {
        throw job.cancelled ? options.signal?.reason : error;
      } finally {
        unfollow();
      }
    },

    parts,

    async *stream(request, options = {}): AsyncGenerator<ChatChunk> {
      const waiting: ChatChunk[] = [];
      const includeUsage = wantsUsage(request);
      const head = { id: newCompletionId(), created: 0, model: request.model };
      const encoder = new ChunkEncoder(
        { ...head, includeUsage },
        {
          chunk: (chunk) => void waiting.push(chunk),
          // A copy of its own: the event may be kept, and the caller may write into it.
          event: ({ json }) => void waiting.push(JSON.parse(json) as ChatChunk),
          comment() {},
        },
      );
      for await (const read of parts(request, options)) {
        encoder.write(read);
        yield* waiting.splice(0);
      }
      encoder.end();
      yield* waiting.splice(0);
    },

    open(call, request, options) {
      const read = (bytes: Buffer) => readTranslated(request, options, bytes);
      return openChat<OpenedChat>(endpoint, call, read, ({ job, response }) => {
        setTrace(call.res, job);
        if (response.stream === undefined) {
          const native = response.native === true ? response.body : undefined;
          return { kind: "whole", completion: completionOf(response), native };
        }
        return { kind: "stream", pipe: pipeOf(call, job, response, formOf(options)) };
      });
    },

    openCompletion(call, body, raw) {
      const read = () => readOwn(body, raw);
      return openChat<OpenedCompletion>(endpoint, call, read, ({ job, response }) => {
        const { stream, bytes } = response;
        setTrace(call.res, job);
        if (stream !== undefined) {
          const { includeUsage, trace } = job;
          const pipe = pipeOf(call, job, response);
          return { kind: "stream", model: trace.model, includeUsage, pipe };
        }
        if (bytes === undefined) return { kind: "whole", body: response.body! };
        return { kind: "bytes", pipe: () => endpoint.busy(passBytes(call, bytes, endpoint)) };
      });
    },

    countTokens: (call, request, native) => countTokens(endpoint, call, request, native),
    forward: (call, request) => forward(endpoint, call, request),
    models: endpoint.models,
    defaultModel,
  };
}
