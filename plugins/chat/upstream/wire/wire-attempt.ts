/** One attempt at an upstream over HTTP. */
import type { NativeForm, WireProvider, WireRequest } from "portico/chat";
import { type ChatResponse, clientDisconnected, type Job } from "../../job.ts";
import type { AttemptTarget } from "../target.ts";
import type { UpstreamClient } from "../http/upstream-client.ts";
import { WireExchange } from "./wire-exchange.ts";
import { wireRequest } from "./wire-request.ts";

export interface WireAttempt {
  upstreams: UpstreamClient;
  wire: WireProvider;
  target: AttemptTarget;
  job: Job;
  /** The request goes out in the caller's own form, and so the response comes back. */
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

/** Resolves with the response's beginning, rejects with what went wrong before it. */
export function attemptWire(attempt: WireAttempt): Promise<ChatResponse> {
  const { wire, target, job } = attempt;
  const native = job.native === undefined ? undefined : wire.native?.[job.native.form];
  const own = native?.encode(job.native!, target);
  if (own !== undefined) return exchange({ ...attempt, native }, own);
  const sent = wireRequest(wire, target, job, attempt.askUsage);
  return sent instanceof Promise ? sent.then((call) => exchange(attempt, call)) : exchange(attempt, sent);
}

function exchange(attempt: WireAttempt, call: WireRequest): Promise<ChatResponse> {
  const { job } = attempt;
  job.trace.dropped = call.dropped;
  return new Promise<ChatResponse>((resolve, reject) => {
    if (job.cancelled) reject(clientDisconnected());
    else new WireExchange(attempt, call, resolve, reject).send();
  });
}
