/** `POST /v1/chat/completions`: reads the request, asks, and writes the answer. */
import type { ServerResponse } from "node:http";
import type { Call, ErrorForm } from "portico";
import { errorEvent } from "./exchange.ts";
import type { Answer } from "./job.ts";
import { type Endpoint, openExchange } from "./open.ts";
import { checkRequest } from "./request.ts";
import { STREAM_HEADERS, writeStream } from "./write-stream.ts";

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

/** Answers by itself: returns nothing, or throws before anything was written. */
export async function chatCompletions(endpoint: Endpoint, call: Call): Promise<void> {
  const request = checkRequest(await call.json());
  const raw = await call.body();
  const { answer } = await openExchange(endpoint, call, { request, raw, stream: request.stream === true });
  const { res } = call;
  if (res.destroyed) return;
  if (answer.stream === undefined) {
    endWith(res, answer.body!, answer.latin1);
    return;
  }
  void endpoint.busy(pass(res, answer));
}

const JSON_TYPE = "application/json; charset=utf-8";
/** Up to here a copy into one string is cheaper than a second buffer to write. */
const ONE_WRITE_BYTES = 16 * 1024;

function endWith(res: ServerResponse, body: Buffer, latin1: string | undefined): void {
  res.writeHead(200, { "content-type": JSON_TYPE, "content-length": body.length });
  // Latin-1 is bytes as they are: head and body leave in one write.
  if (body.length <= ONE_WRITE_BYTES) res.end(latin1 ?? body.toString("latin1"), "latin1");
  else res.end(body);
}

function pass(res: ServerResponse, answer: Answer): Promise<void> {
  const json = answer.streamType === "json";
  res.writeHead(200, json ? { "content-type": JSON_TYPE } : STREAM_HEADERS);
  return writeStream(res, answer.stream!, !json, {
    write: (bytes) => res.write(bytes),
    end() {
      res.end();
    },
    fail(error) {
      // Half a JSON body cannot be ended well: the client must see that it is cut.
      if (json) res.destroy();
      else res.end(errorEvent(error));
    },
  });
}
