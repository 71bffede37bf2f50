/** How a request ends: with what its handler returned, or with an error in the form of its surface. */
import type { ServerResponse } from "node:http";
import { isPorticoError } from "../../errors.ts";
import type { Logger } from "../../contract/index.ts";
import { endAndLinger, mustClose } from "../body/unread.ts";
import type { RequestContext } from "../request/context.ts";
import { inBurst } from "./burst.ts";
import { unlessKnown } from "./etag.ts";
import { type ErrorForms, logFailure, publicError } from "./errors.ts";
import { isBodiless, jsonResponse, type Outgoing, outgoing, reply } from "./reply.ts";

export function createResponder(log: Logger, forms: ErrorForms) {
  /** Sends a handler's value; `undefined` means that the handler responds by itself, or, where it left `res` alone, a 204. */
  function finish(call: RequestContext, value: unknown): void {
    const { plain: res, id, path } = call;
    if (value === res || res.destroyed || (value === undefined && call.dressed)) return;
    if (res.headersSent)
      return void log.warn({ id, path }, "a handler sent a response and also returned a value");
    try {
      const response = unlessKnown(call, outgoing(value === undefined ? reply(204) : value));
      inBurst(() => {
        if (res.destroyed || res.headersSent) return;
        try {
          send(call, response);
        } catch (error) {
          fail(call, error);
        }
      });
    } catch (error) {
      fail(call, error);
    }
  }

  /** Sends an error; where the response has begun already, cuts it off. */
  function fail(call: RequestContext, failure: unknown): void {
    const { plain: res, id, path } = call;
    if (
      res.destroyed ||
      res.closed ||
      (isPorticoError(failure) && failure.code === "client_closed")
    ) {
      log.debug({ id, path, err: failure }, "the client disconnected before the response");
      return void res.destroy();
    }
    logFailure(log, failure, id, path);
    if (!res.headersSent) {
      const error = publicError(failure, id);
      call.error = error;
      const status = error.status >= 400 && error.status <= 599 ? error.status : 500;
      const { body, headers } = forms.render(call, error, id);
      res.removeHeader("content-type");
      try {
        send(
          call,
          jsonResponse(status, body, { ...headers, ...error.headers }),
          error.code === "request_timeout",
        );
      } catch (invalid) {
        log.error({ id, err: invalid }, "an error has headers that cannot be sent");
        send(call, jsonResponse(status, body, headers));
      }
    } else if (!res.writableEnded) {
      log.warn({ id, path }, "the response was cut off after an error");
      res.destroy();
    }
  }

  return { finish, fail };
}

/** Throws for headers that cannot be sent; nothing has been sent then. `late`: the request's body is not waited for. */
function send(call: RequestContext, response: Outgoing, late = false): void {
  const { status, body } = response;
  const { req, plain: res, awaitsContinue } = call;
  const unread = mustClose(req);
  if (unread || late || awaitsContinue) call.res.setHeader("connection", "close");
  const length = isBodiless(status) ? undefined : Buffer.byteLength(body);
  res.writeHead(status, headLines(call, response, length));
  if (unread && !late && !awaitsContinue) {
    res.flushHeaders();
    res.write(body);
    endAndLinger(req, res);
  } else if (body.length === 0) res.end();
  else end(res, body, length);
}

/** Names and values in turn, as `writeHead` takes them. */
function headLines(
  { plain: res, dressed, id }: RequestContext,
  { headers, type }: Outgoing,
  length: number | undefined,
): string[] {
  const lines: unknown[] = dressed ? [] : ["x-request-id", id, "x-content-type-options", "nosniff"];
  for (const name in headers) {
    const value = headers[name]!;
    lines.push(name, typeof value === "number" ? String(value) : value);
  }
  if (type !== undefined && !res.hasHeader("content-type")) lines.push("content-type", type);
  if (length !== undefined) lines.push("content-length", String(length));
  return lines as string[];
}

/** Up to here a copy into one string is cheaper than a second buffer to write. */
const ONE_WRITE_BYTES = 16 * 1024;

/**
 * Head and body leave in one plain write: `res.end(body)` alone would write an empty part behind them, and so take the
 * dearer way for several parts.
 */
function end(res: ServerResponse, body: string | Buffer, length: number | undefined): void {
  const { socket } = res;
  socket?.cork(); // else `write` does, and asks for a call of `uncork` in the next tick
  if (typeof body === "string") res.write(body, body.length === length ? "latin1" : "utf8");
  else if (body.length > ONE_WRITE_BYTES) res.write(body);
  else res.write(body.toString("latin1"), "latin1");
  socket?.uncork();
  res.end();
}
