/** Turns whole responses of an upstream into the caller's response, or into the error that they hold. */
import type { IncomingHttpHeaders } from "node:http";
import type { PorticoError } from "portico";
import {
  asFailure,
  CallIds,
  type ChatCompletion,
  partsOfCompletion,
  readCompletion,
  readOpenAiProblem,
  type UpstreamError,
  upstreamError,
  type WireProvider,
  type WireRequest,
} from "portico/provider";
import { partStream } from "../../streams/flow.ts";
import type { ChatResponse } from "../../chat-response.ts";
import type { WireAttempt } from "../attempt.ts";
import type { HeldResponse } from "../held-response.ts";
import type { AttemptTarget } from "../target.ts";

/** A response that has come as a whole. */
export interface Received {
  status: number;
  headers: IncomingHttpHeaders;
  body: Buffer;
  firstByteMs: number;
}

/** The caller's response. Throws what the upstream's response is instead of one. */
export function readWhole(
  attempt: WireAttempt,
  call: WireRequest,
  received: Received,
): ChatResponse {
  const { native, target, job } = attempt;
  const { status, headers, firstByteMs } = received;
  const body = target.mask.body(received.body);
  if (body.length === 0) throw emptyResponse(target, status);
  if (!job.stream && EVENT_STREAM.test(headers["content-type"] ?? "")) {
    const message =
      "The upstream responded with a stream, although the request did not ask for one.";
    throw upstreamError({ kind: "upstream", message }, status);
  }
  const read = decoded(attempt, call, body);
  const completion = new CallIds(job.request).claimCompletion(read.completion);
  const isUnchanged = !read.changed && completion === read.completion;
  const outgoing = isUnchanged ? { completion, body } : written(completion, target);
  const { usage } = outgoing.completion;
  if (job.stream)
    return { stream: partStream(partsOfCompletion(outgoing.completion)), firstByteMs };
  if (native !== undefined)
    return { ...outgoing, body, usage, firstByteMs, native: true, nativeTexts: native.texts };
  return { ...outgoing, usage, firstByteMs };
}

/** `changed`: the body itself may not go out. */
function decoded({ wire, native, target }: WireAttempt, call: WireRequest, body: Buffer) {
  if (native !== undefined)
    return { completion: native.decode(body, call, target), changed: false };
  if (wire.decode === undefined) return readCompletion(body, target);
  return { completion: wire.decode(body, call, target), changed: true };
}

/** Serialises a completion and masks it again: several texts may spell a secret together that none of them holds. */
function written(
  completion: ChatCompletion,
  { mask }: AttemptTarget,
): { completion: ChatCompletion; body: Buffer } {
  const bytes = Buffer.from(JSON.stringify(completion));
  const body = mask.body(bytes);
  return {
    completion: body === bytes ? completion : (JSON.parse(body.toString("utf8")) as ChatCompletion),
    body,
  };
}

const EVENT_STREAM = /^text\/event-stream/i;

/** The error in a response with a status of 300 and above. */
export function refusal(
  wire: WireProvider,
  target: AttemptTarget,
  received: Received,
): UpstreamError {
  const { status, headers } = received;
  const body = target.hideIn(received.body);
  // An error dressed as a response.
  if (status < 300) return upstreamError(asFailure(readOpenAiProblem(status, body)), status);
  if (status < 400) {
    return upstreamError(
      {
        kind: "upstream",
        message: `The upstream of channel \`${target.channel}\` redirects (${status}) elsewhere. Set its baseUrl to the final address.`,
      },
      status,
    );
  }
  let problem: ReturnType<WireProvider["error"]>;
  try {
    problem = wire.error(status, headers, body);
  } catch {
    problem = readOpenAiProblem(status, body);
  }
  const wait = retryAfter(headers);
  return upstreamError(wait === undefined ? problem : { ...problem, retryAfter: wait }, status);
}

/** Whether a large response may be passed on as bytes: one in OpenAI's form shows by its beginning that it is no error. */
export function mayPassRaw({ job, wire }: WireAttempt, held: HeldResponse): boolean {
  return (
    job.mayPassRaw &&
    wire.decode === undefined &&
    wire.parts === undefined &&
    wire.decoder === undefined &&
    held.beginsAsCompletion()
  );
}

/** The error for a response without a body, whatever its status. */
export function emptyResponse(target: AttemptTarget, status: number): PorticoError {
  return upstreamError(
    {
      kind: "upstream",
      message: `The upstream of channel \`${target.channel}\` answered ${status} without a body.`,
    },
    status,
  );
}

/** Seconds to wait by `retry-after-ms` or `retry-after` (seconds or a date). */
function retryAfter(headers: IncomingHttpHeaders): number | undefined {
  const ms = Number(headers["retry-after-ms"]);
  if (headers["retry-after-ms"] !== undefined && Number.isFinite(ms) && ms >= 0) return ms / 1000;
  const value = headers["retry-after"];
  if (value === undefined) return undefined;
  const seconds = Number(value);
  if (Number.isFinite(seconds)) return Math.max(0, seconds);
  const date = Date.parse(value);
  return Number.isNaN(date) ? undefined : Math.max(0, (date - Date.now()) / 1000);
}
