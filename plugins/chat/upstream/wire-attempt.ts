/** One attempt at an upstream over HTTP. */
import type { NativeForm, WireProvider, WireRequest } from "portico/chat";
import { type Answer, callerLeft, type Job } from "../job.ts";
import type { AttemptTarget } from "../routing/target.ts";
import type { Upstreams } from "./upstreams.ts";
import { WireExchange } from "./wire-exchange.ts";
import { wireRequest } from "./wire-request.ts";

export interface WireAttempt {
  upstreams: Upstreams;
  wire: WireProvider;
  target: AttemptTarget;
  job: Job;
  /** The request goes out in the caller's own form, and so the answer comes back. */
  native?: NativeForm | undefined;
  timeoutMs: number;
  idleTimeoutMs: number;
  /** The usage of the stream is asked for, though the client did not. */
  askUsage: boolean;
  /** The exchange is over: completed, failed or cancelled. Called once. */
  onClose: () => void;
  /** A stream broke off after it had begun. */
  onBroken: (message: string) => void;
}

/** Resolves with the answer's beginning, rejects with what went wrong before it. */
export function attemptWire(attempt: WireAttempt): Promise<Answer> {
  const { wire, target, job } = attempt;
  const native = job.native === undefined ? undefined : wire.native?.[job.native.form];
  const own = native?.encode(job.native!, target);
  if (own !== undefined) return exchange({ ...attempt, native }, own);
  const sent = wireRequest(wire, target, job, attempt.askUsage);
  return sent instanceof Promise ? sent.then((call) => exchange(attempt, call)) : exchange(attempt, sent);
}

function exchange(attempt: WireAttempt, call: WireRequest): Promise<Answer> {
  const { job } = attempt;
  job.trace.dropped = call.dropped;
  return new Promise<Answer>((resolve, reject) => {
    if (job.cancelled) reject(callerLeft());
    else new WireExchange(attempt, call, resolve, reject).send();
  });
}
