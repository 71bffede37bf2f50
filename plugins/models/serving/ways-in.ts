/** Requests of HTTP clients, in OpenAI's form or translated from another one. */
import type { Call, PorticoError } from "portico";
import type { OpenedChat, OpenedCompletion, OpenOptions, StreamTranslator } from "portico/models";
import {
  type ChatRequest,
  type StreamEncoder,
  usesFunctions,
  withFunctionCalls,
} from "portico/provider";
import { type ChatResponse, completionBytes, completionOf } from "../chat-response.ts";
import { adaptedTranslator } from "../deprecated.ts";
import type { RawBody } from "../openai/members.ts";
import { checkMembers, readRequest } from "../openai/read-request.ts";
import type { ByteStream, PartStream } from "../streams/flow.ts";
import type { Endpoint } from "./access.ts";
import { type ClientForm, porticoErrorInForm } from "./error-form.ts";
import { type Incoming, openChat, type Opened, setTrace } from "./open.ts";
import { STREAM_HEADERS, writeParts, writeStream } from "./writing/write-stream.ts";

/** `ModelsService.openCompletion`. */
export function openCompletion(
  endpoint: Endpoint,
  call: Call,
  body: unknown,
  raw: RawBody,
): Promise<OpenedCompletion> {
  const functionCalls = usesFunctions(body);
  return openChat<OpenedCompletion>(
    endpoint,
    call,
    () => readOwn(body, raw),
    (opened) => {
      const { job, response } = opened;
      const { stream, bytes } = response;
      setTrace(call.res, job);
      if (stream !== undefined) {
        const { includeUsage, trace } = job;
        const pipe = partsWriter(opened, stream, "openai");
        return { kind: "stream", model: trace.model, includeUsage, functionCalls, pipe };
      }
      if (bytes === undefined) return { kind: "whole", body: wholeBody(response, functionCalls) };
      return { kind: "bytes", pipe: () => endpoint.busy(passBytes(opened, bytes)) };
    },
  );
}

/** `ModelsService.open`. */
export function openTranslated(
  endpoint: Endpoint,
  call: Call,
  request: ChatRequest,
  options: OpenOptions,
): Promise<OpenedChat> {
  return openChat<OpenedChat>(
    endpoint,
    call,
    (bytes) => readTranslated(request, options, bytes),
    (opened) => {
      const { job, response } = opened;
      setTrace(call.res, job);
      if (response.stream === undefined) {
        const native = response.native === true ? response.body : undefined;
        return { kind: "whole", completion: completionOf(response), native };
      }
      return { kind: "stream", pipe: partsWriter(opened, response.stream, formOf(options)) };
    },
  );
}

function wholeBody(response: ChatResponse, functionCalls: boolean): Buffer {
  return functionCalls
    ? completionBytes(withFunctionCalls(completionOf(response)))
    : response.body!;
}

/** A request in OpenAI's form. */
function readOwn(body: unknown, raw: RawBody): Incoming {
  const { request, fallbacks, same } = readRequest(body, raw);
  return { request, fallbacks, raw: same ? raw : undefined, stream: request.stream === true };
}

/** A request that was translated into OpenAI's form, with the properties of its own form. */
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

/** The function that writes a streamed response, with the encoder of the client's format. */
function partsWriter(
  { endpoint, call, job }: Opened,
  stream: PartStream,
  form: ClientForm,
): (encoder: StreamEncoder | StreamTranslator) => Promise<void> {
  const { busy, workers } = endpoint;
  // The way in may fail before it writes the stream, and answer with an error.
  call.res.once("close", () => job.cancel());
  const errorFor = (error: PorticoError) => porticoErrorInForm(error, form, job.request);
  return (encoder) => {
    call.res.writeHead(200, STREAM_HEADERS);
    const own = "write" in encoder ? encoder : adaptedTranslator(encoder);
    return busy(writeParts(call, stream, own, { workers, errorFor }));
  };
}

/** Writes a whole response that is too large to be held. */
function passBytes({ endpoint, call }: Opened, bytes: ByteStream): Promise<void> {
  call.res.writeHead(200, { "content-type": "application/json; charset=utf-8" });
  const written = {
    write: (read: readonly Buffer[]) => read,
    end: () => undefined,
    // Half a JSON body cannot be ended well: the client must see that it is cut.
    fail: () => undefined,
    hasComments: false,
  };
  return writeStream(call, bytes, written, endpoint.workers);
}
