/** One attempt at an upstream over HTTP. */
import type { WireRequest } from "portico/chat";
import { type ChatResponse, clientDisconnected } from "../../job.ts";
import type { WireAttempt } from "../attempt.ts";
import { checkTranslated } from "../untranslated.ts";
import { WireExchange } from "./wire-exchange.ts";
import { wireRequest } from "./wire-request.ts";

/** Resolves with the response's beginning, rejects with what went wrong before it. */
export function attemptWire(attempt: WireAttempt): Promise<ChatResponse> {
  const authorized = attempt.target.authorize(attempt.wire);
  return authorized === undefined ? begin(attempt) : authorized.then(() => begin(attempt));
}

function begin(attempt: WireAttempt): Promise<ChatResponse> {
  const { wire, target, job } = attempt;
  const native = job.native === undefined ? undefined : wire.native?.[job.native.form];
  const own = native?.encode(job.native!, target);
  if (own !== undefined) return exchange({ ...attempt, native }, own);
  if (job.translated) checkTranslated(job.request);
  const sent = wireRequest(wire, target, job, attempt.askUsage);
  return sent instanceof Promise
    ? sent.then((call) => exchange(attempt, call))
    : exchange(attempt, sent);
}

function exchange(attempt: WireAttempt, call: WireRequest): Promise<ChatResponse> {
  const { job } = attempt;
  job.trace.dropped = call.dropped;
  return new Promise<ChatResponse>((resolve, reject) => {
    if (job.cancelled) reject(clientDisconnected());
    else new WireExchange(attempt, call, { resolve, reject }).send();
  });
}
