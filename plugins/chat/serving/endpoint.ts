/** `POST /v1/chat/completions`: reads the request, asks, and writes the response. */
import { type BodyLimits, type Call, checkJsonType, type ErrorForm, reply } from "portico";
import { errorEvent } from "./ask.ts";
import type { ChatResponse, Sink } from "../job.ts";
import type { Endpoint } from "./access.ts";
import { type Incoming, openChat, type Opened, setTrace, traceOf } from "./open.ts";
import { parseBody, rawBody } from "../openai/members.ts";
import { readRequest } from "../openai/read-request.ts";
import { LastWords } from "./writing/last-words.ts";
import type { ResponseWriter } from "./writing/response-writer.ts";
import { STREAM_HEADERS, writeStream } from "./writing/write-stream.ts";

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
  const { stream, text, body } = response;
  if (stream === undefined)
    return reply(200, text ?? body, traceOf(job, { "content-type": JSON_TYPE }));
  setTrace(call.res, job);
  void endpoint.busy(pass(endpoint, call, response));
  return undefined;
}

const JSON_TYPE = "application/json; charset=utf-8";

function pass({ workers }: Endpoint, call: Call, response: ChatResponse): Promise<void> {
  const { res } = call;
  const json = response.streamType === "json";
  res.writeHead(200, json ? { "content-type": JSON_TYPE } : STREAM_HEADERS);
  const sinkOf = (out: ResponseWriter): Sink => ({
    write: (bytes) => out.write(bytes),
    end: () => out.end(),
    fail(error) {
      // Half a JSON body cannot be ended well: the client must see that it is cut.
      if (json) res.destroy();
      else out.end(errorEvent(error));
    },
  });
  return writeStream(
    call,
    response.stream!,
    !json,
    sinkOf,
    LastWords.of(workers, json ? undefined : errorEvent),
  );
}
