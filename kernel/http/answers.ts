/** How a call ends: with what its handler returned, or with an error in the form of its surface. */
import type { ServerResponse } from "node:http";
import { isPorticoError } from "../errors.ts";
import type { Logger } from "../types.ts";
import { drain, endAndLinger, mustClose } from "./body.ts";
import { inBurst } from "./burst.ts";
import { type ErrorForms, logFailure, publicError } from "./errors.ts";
import type { Exchange } from "./exchange.ts";
import { JSON_TYPE, type Outgoing, outgoing, writeOutgoing } from "./reply.ts";

export interface Answers {
  /** Answers with a handler's value; `undefined` means that the handler answers by itself. */
  finish(call: Exchange, value: unknown): void;
  /** Answers with an error; where the answer has begun already, cuts it off. */
  fail(call: Exchange, failure: unknown): void;
}

export function createAnswers(log: Logger, forms: ErrorForms): Answers {
  function finish(call: Exchange, value: unknown): void {
    const { req, plain: res } = call;
    if (value === undefined || value === res || res.destroyed) return;
    if (res.headersSent) {
      log.warn({ id: call.id, path: call.path }, "a handler answered by itself and returned a value too");
      return;
    }
    const unread = mustClose(req);
    if (unread || call.awaitsContinue) call.res.setHeader("connection", "close");
    if (unread && !call.awaitsContinue) drain(req, () => answer(call, value));
    else answer(call, value);
  }

  function answer(call: Exchange, value: unknown): void {
    let out: Outgoing;
    try {
      out = outgoing(value);
    } catch (error) {
      fail(call, error);
      return;
    }
    inBurst(() => {
      const { plain: res } = call;
      if (res.destroyed || res.headersSent) return;
      try {
        writeOutgoing(call, out);
      } catch (error) {
        fail(call, error);
      }
    });
  }

  function fail(call: Exchange, failure: unknown): void {
    const { res, id, path } = call;
    if (res.destroyed || res.closed || (isPorticoError(failure) && failure.code === "client_closed")) {
      log.debug({ id, path, err: failure }, "the client left before the answer");
      res.destroy();
      return;
    }
    logFailure(log, failure, id, path);
    if (!res.headersSent) {
      sendError(call, failure);
    } else if (!res.writableEnded) {
      log.warn({ id, path }, "the answer was cut off after an error");
      res.destroy();
    }
  }

  function sendError(call: Exchange, failure: unknown): void {
    const { req, res, awaitsContinue } = call;
    const error = publicError(failure, call.id);
    const body = forms.render(call.path, error, call.id);
    const late = error.code === "request_timeout";
    const unread = mustClose(req);
    try {
      if (error.headers) setHeaders(res, error.headers);
    } catch (invalid) {
      log.error({ id: call.id, err: invalid }, "an error has headers that cannot be sent");
    }
    res.statusCode = error.status >= 400 && error.status <= 599 ? error.status : 500;
    res.setHeader("content-type", JSON_TYPE);
    res.setHeader("content-length", Buffer.byteLength(body));
    if (late || unread || awaitsContinue) res.setHeader("connection", "close");
    if (unread && !late && !awaitsContinue) endAndLinger(req, res, body);
    else res.end(body);
  }

  return { finish, fail };
}

export function setHeaders(res: ServerResponse, headers: Record<string, string>): void {
  for (const name in headers) res.setHeader(name, headers[name] as string);
}
