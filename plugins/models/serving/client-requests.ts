/** Opens requests of HTTP clients, in OpenAI's format or translated from another one. */
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
    () => readOpenAi(body, raw),
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

/** Reads a request in OpenAI's format. */
function readOpenAi(body: unknown, raw: RawBody): Incoming {
  const { request, fallbacks, isUnchanged } = readRequest(body, raw);
  return {
    request,
    fallbacks,
    raw: isUnchanged ? raw : undefined,
    stream: request.stream === true,
  };
}

/** Reads a request that was translated into OpenAI's format, with the members of its original format. */
function readTranslated(request: ChatRequest, options: OpenOptions, bytes: Buffer): Incoming {
  const { stream, body, dropped, refusal } = options;
  checkMembers(body, bytes);
  const parsed = readRequest({ ...request, stream, models: body["models"] });
  return {
    request: parsed.request,
    fallbacks: parsed.fallbacks,
    stream,
    native: parsed.isUnchanged ? options.native : undefined,
    dropped,
    refusal,
    form: formOf(options),
    translated: true,
  };
}

function formOf({ native }: OpenOptions): ClientForm {
  return native?.form === "anthropic" ? "anthropic" : "openai";
}

/** Returns the function that writes a streamed response with the encoder of the client's format. */
function partsWriter(
  { endpoint, call, job }: Opened,
  stream: PartStream,
  form: ClientForm,
): (encoder: StreamEncoder | StreamTranslator) => Promise<void> {
  const { busy, workers } = endpoint;
  // The route may fail before it writes the stream, and respond with an error.
  call.res.once("close", () => job.cancel());
  const errorFor = (error: PorticoError) => porticoErrorInForm(error, form, job.request);
  return (encoder) => {
    call.res.writeHead(200, STREAM_HEADERS);
    const partEncoder = "write" in encoder ? encoder : adaptedTranslator(encoder);
    return busy(writeParts(call, stream, partEncoder, { workers, errorFor }));
  };
}

/** Writes a whole response that is too large to be held in memory. */
function passBytes({ endpoint, call }: Opened, bytes: ByteStream): Promise<void> {
  call.res.writeHead(200, { "content-type": "application/json; charset=utf-8" });
  const writer = {
    write: (chunks: readonly Buffer[]) => chunks,
    end: () => undefined,
    // An incomplete JSON body has no valid end, so the client must see that the connection breaks.
    fail: () => undefined,
    hasComments: false,
  };
  return writeStream(call, bytes, writer, endpoint.workers);
}
