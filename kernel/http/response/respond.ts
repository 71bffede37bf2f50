/** Ends requests: with the value that the handler returned, or with an error in the format of the API. */
import type { ServerResponse } from "node:http";
import { isPorticoError } from "../../errors.ts";
import type { Logger } from "../../contract/index.ts";
import { endAndLinger, mustClose } from "../body/unread.ts";
import type { RequestContext } from "../request/context.ts";
import { inBurst } from "./burst.ts";
import { applyEtag } from "./etag.ts";
import { type ErrorForms, logFailure, publicError } from "./errors.ts";
import { isBodiless, jsonResponse, type Outgoing, toOutgoing, reply } from "./reply.ts";

export function createResponder(log: Logger, forms: ErrorForms) {
  /**
   * Sends a handler's value. `undefined` means that the handler responds by itself, or, if it has not touched `res`, a
   * 204.
   */
  function finish(call: RequestContext, value: unknown): void {
    const { plain: res, id, path } = call;
    if (value === res || res.destroyed || (value === undefined && call.hasCommonHeaders)) return;
    if (res.headersSent)
      return void log.warn({ id, path }, "a handler sent a response and also returned a value");
    try {
      const response = applyEtag(call, toOutgoing(value === undefined ? reply(204) : value));
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

  /** Sends an error, or cuts the response off if it has already begun. */
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

/**
 * Sends the response. Throws for headers that cannot be sent, before anything is sent. With `isBodyLate`, does not wait
 * for the request's body.
 */
function send(call: RequestContext, response: Outgoing, isBodyLate = false): void {
  const { status, body } = response;
  const { req, plain: res, awaitsContinue } = call;
  const hasUnreadBody = mustClose(req);
  if (hasUnreadBody || isBodyLate || awaitsContinue) call.res.setHeader("connection", "close");
  const length = isBodiless(status) ? undefined : Buffer.byteLength(body);
  res.writeHead(status, headLines(call, response, length));
  if (hasUnreadBody && !isBodyLate && !awaitsContinue) {
    res.flushHeaders();
    res.write(body);
    endAndLinger(req, res);
  } else if (body.length === 0) res.end();
  else endInOneWrite(res, body, length);
}

/** Returns names and values alternately, as `writeHead` takes them. */
function headLines(
  { plain: res, hasCommonHeaders: dressed, id }: RequestContext,
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

/** Up to this size, a copy into one string is cheaper than a second buffer to write. */
const ONE_WRITE_BYTES = 16 * 1024;

/**
 * Sends head and body in one plain write: `res.end(body)` alone would write an empty part after them, and so take the
 * more expensive path for several parts.
 */
function endInOneWrite(
  res: ServerResponse,
  body: string | Buffer,
  length: number | undefined,
): void {
  const { socket } = res;
  socket?.cork(); // otherwise `write` corks it, and runs `uncork` in the next tick
  if (typeof body === "string") res.write(body, body.length === length ? "latin1" : "utf8");
  else if (body.length > ONE_WRITE_BYTES) res.write(body);
  else res.write(body.toString("latin1"), "latin1");
  socket?.uncork();
  res.end();
}
