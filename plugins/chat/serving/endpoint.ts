/** `POST /v1/chat/completions`: reads the request, asks, and writes the response. */
import { type BodyLimits, type Call, checkJsonType, type ErrorForm, reply } from "portico";
import { newCompletionId, OpenAiEncoder } from "portico/provider";
import type { Job } from "../job.ts";
import type { ByteStream, PartStream } from "../streams/flow.ts";
import type { Endpoint } from "./access.ts";
import { type Incoming, openChat, type Opened, setTrace, traceOf } from "./open.ts";
import { parseBody, rawBody } from "../openai/members.ts";
import { readRequest } from "../openai/read-request.ts";
import { STREAM_HEADERS, writeParts, writeStream } from "./writing/write-stream.ts";

/** Errors below `/v1` in OpenAI's form. */
export const openaiForm: ErrorForm = ({ code, message, status, type, param, details }) => ({
  error: {
    message,
    type: type ?? typeOf(status),
    param: param ?? null,
    code: code === "unauthorized" ? "invalid_api_key" : code,
    ...details,
  },
});

function typeOf(status: number): string {
  if (status === 401) return "authentication_error";
  if (status === 429) return "rate_limit_error";
  return status < 500 ? "invalid_request_error" : "api_error";
}

/** Throws before anything was written. */
export function chatCompletions(endpoint: Endpoint, call: Call): Promise<unknown> {
  checkJsonType(call.req);
  return openChat(endpoint, call, read, write);
}

function read(bytes: Buffer, limits: BodyLimits): Incoming {
  const raw = rawBody(bytes);
  const { request, fallbacks, same } = readRequest(parseBody(bytes, limits, raw), raw);
  return { request, fallbacks, raw: same ? raw : undefined, stream: request.stream === true };
}

function write({ endpoint, call, job, response }: Opened): unknown {
  const { stream, bytes, body } = response;
  if (stream === undefined && bytes === undefined)
    return reply(200, body, traceOf(job, { "content-type": JSON_TYPE }));
  setTrace(call.res, job);
  void endpoint.busy(
    stream === undefined
      ? passBytes(endpoint, call, bytes!)
      : passParts(endpoint, call, job, stream),
  );
  return undefined;
}

const JSON_TYPE = "application/json; charset=utf-8";

function passParts({ workers }: Endpoint, call: Call, job: Job, stream: PartStream): Promise<void> {
  call.res.writeHead(200, STREAM_HEADERS);
  const { includeUsage } = job;
  const created = Math.floor(Date.now() / 1000);
  const head = { id: newCompletionId(), created, model: job.trace.model };
  return writeParts(call, stream, new OpenAiEncoder({ ...head, includeUsage }), workers);
}

/** A whole response that is too large to be held. */
function passBytes({ workers }: Endpoint, call: Call, bytes: ByteStream): Promise<void> {
  call.res.writeHead(200, { "content-type": JSON_TYPE });
  const written = {
    write: (read: readonly Buffer[]) => read,
    end: () => undefined,
    // Half a JSON body cannot be ended well: the client must see that it is cut.
    fail: () => undefined,
    hasComments: false,
  };
  return writeStream(call, bytes, written, workers);
}
