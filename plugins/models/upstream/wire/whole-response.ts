/** Converts whole responses of an upstream into the caller's response, or into the error that they contain. */
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

/** A response that was received as a whole. */
export interface Received {
  status: number;
  headers: IncomingHttpHeaders;
  body: Buffer;
  firstByteMs: number;
}

/** Returns the caller's response. Throws an error if the upstream's response is none. */
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
  const result = decode(attempt, call, body);
  const completion = new CallIds(job.request).claimCompletion(result.completion);
  const isUnchanged = !result.changed && completion === result.completion;
  const outgoing = isUnchanged ? { completion, body } : serialize(completion, target);
  const { usage } = outgoing.completion;
  if (job.stream)
    return { stream: partStream(partsOfCompletion(outgoing.completion)), firstByteMs };
  if (native !== undefined)
    return { ...outgoing, body, usage, firstByteMs, native: true, nativeTexts: native.texts };
  return { ...outgoing, usage, firstByteMs };
}

/** Decodes a completion. `changed`: the body itself must not be passed on. */
function decode({ wire, native, target }: WireAttempt, call: WireRequest, body: Buffer) {
  if (native !== undefined)
    return { completion: native.decode(body, call, target), changed: false };
  if (wire.decode === undefined) return readCompletion(body, target);
  return { completion: wire.decode(body, call, target), changed: true };
}

/**
 * Serialises a completion and masks it again, because several texts may together spell a secret that none of them
 * contains.
 */
function serialize(
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

/** Creates the error for a response with a status of 300 and above, or for an error with a status of success. */
export function refusalError(
  wire: WireProvider,
  target: AttemptTarget,
  received: Received,
): UpstreamError {
  const { status, headers } = received;
  const body = target.maskErrorBody(received.body);
  // An error with a status of success.
  if (status < 300) return upstreamError(asFailure(readOpenAiProblem(status, body)), status);
  if (status < 400) {
    return upstreamError(
      {
        kind: "upstream",
        message: `The upstream of channel \`${target.channel}\` redirects (${status}) to another address. Set the channel's baseUrl to the final address.`,
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

/**
 * Whether a large response may be passed through as bytes. The beginning of one in OpenAI's format shows that it is no
 * error.
 */
export function mayPassRaw({ job, wire }: WireAttempt, response: HeldResponse): boolean {
  return (
    job.mayPassRaw &&
    wire.decode === undefined &&
    wire.parts === undefined &&
    wire.decoder === undefined &&
    response.beginsAsCompletion()
  );
}

/** Creates the error for a response without a body, whatever its status. */
export function emptyResponse(target: AttemptTarget, status: number): PorticoError {
  return upstreamError(
    {
      kind: "upstream",
      message: `The upstream of channel \`${target.channel}\` responded with status ${status}, without a body.`,
    },
    status,
  );
}

/** Reads the seconds to wait from `retry-after-ms` or `retry-after` (seconds or a date). */
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
