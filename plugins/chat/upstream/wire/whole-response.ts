/** Whole responses of an upstream: what they come to for the caller, and the errors that they hold. */
import { isAscii } from "node:buffer";
import type { IncomingHttpHeaders } from "node:http";
import type { PorticoError } from "portico";
import {
  type ChatCompletion,
  readOpenAiProblem,
  type UpstreamError,
  upstreamError,
  type WireProvider,
  type WireRequest,
} from "portico/chat";
import { streamOf } from "../../response-streams.ts";
import type { ChatResponse } from "../../job.ts";
import type { WireAttempt } from "../attempt.ts";
import type { HeldResponse } from "./held-response.ts";
import { asFailure, readCompletion } from "../../openai/completion.ts";
import { ResponseShapes } from "../../openai/response-shape.ts";
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
  const { wire, native, target, job } = attempt;
  const { status, headers, firstByteMs } = received;
  // All that is looked for is looked for in one text: each copy costs more than the search.
  const latin1 = received.body.toString("latin1");
  const body = target.mask.body(received.body, latin1);
  if (body.length === 0) throw emptyResponse(target, status);
  if (!job.stream && EVENT_STREAM.test(headers["content-type"] ?? "")) {
    throw upstreamError(
      { kind: "upstream", message: "The upstream answered a stream where none was asked for." },
      status,
    );
  }
  const isRead =
    native !== undefined ||
    wire.decode !== undefined ||
    job.stream ||
    job.capture ||
    !job.mayPassRaw;
  if (!isRead)
    return passWhole(
      body,
      body === received.body ? latin1 : body.toString("latin1"),
      target,
      firstByteMs,
    );
  const { completion, changed } =
    native !== undefined
      ? { completion: native.decode(body, call, target), changed: false }
      : wire.decode === undefined
        ? readCompletion(body, target)
        : { completion: wire.decode(body, call, target), changed: true };
  const shown = changed ? written(completion, target) : { completion, body };
  if (job.stream)
    return { stream: streamOf(shown.completion, job.includeUsage), streamType: "sse", firstByteMs };
  return { ...shown, firstByteMs, native: native !== undefined };
}

/** As it goes out: what was put together from parts may say a secret that none of them said. */
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

/** Longer ones are quicker written as bytes. */
const SHORT_BYTES = 16 * 1024;

/** By the configuration of their channel. */
const known = new WeakMap<object, ResponseShapes>();

/** A response in OpenAI's form that nobody here wants to read: good ones pass as they came. `text`: a character a byte. */
function passWhole(
  body: Buffer,
  text: string,
  target: AttemptTarget,
  firstByteMs: number,
): ChatResponse {
  let shapes = known.get(target.options);
  if (shapes === undefined) known.set(target.options, (shapes = new ResponseShapes()));
  const found = shapes.match(text);
  const short = body.length <= SHORT_BYTES && isAscii(body) ? text : undefined;
  if (found !== undefined)
    return { body, text: short, completion: undefined, usage: found.usage, firstByteMs };
  const { completion, changed } = readCompletion(body, target);
  if (!changed) shapes.learn(text);
  return {
    ...(changed ? written(completion, target) : { completion, body }),
    usage: completion.usage,
    firstByteMs,
  };
}

/** What a response with a status of 300 and above says. */
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
        message: `The upstream of channel \`${target.channel}\` redirects (${status}) elsewhere. Put the final address into its baseUrl.`,
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

/** A large response in OpenAI's form need not be held to be told from an error. */
export function mayPassRaw({ job, wire }: WireAttempt, held: HeldResponse): boolean {
  return (
    job.mayPassRaw &&
    wire.decode === undefined &&
    wire.decoder === undefined &&
    held.beginsAsCompletion()
  );
}

/** An upstream that says nothing, whatever the status. */
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
  const given = headers["retry-after"];
  if (given === undefined) return undefined;
  const seconds = Number(given);
  if (Number.isFinite(seconds)) return Math.max(0, seconds);
  const date = Date.parse(given);
  return Number.isNaN(date) ? undefined : Math.max(0, (date - Date.now()) / 1000);
}
