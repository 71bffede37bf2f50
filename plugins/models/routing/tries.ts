/**
 * The attempts of one request at one target: which key each uses, how many are left, and what each shows about the
 * channel.
 */
import { isPorticoError, type PorticoError } from "portico";
import {
  type ChatProvider,
  CONTEXT_LENGTH,
  isUpstreamError,
  ResponseTooLarge,
} from "portico/provider";
import type { ChatResponse } from "../chat-response.ts";
import type { Job } from "../job.ts";
import type { Attempt, Story } from "../story.ts";
import type { AttemptWatcher } from "../upstream/attempt.ts";
import { providerFailure } from "../upstream/local/provider-failed.ts";
import type { RunCounts } from "../upstream/run-counts.ts";
import { AttemptTarget, type TargetServices } from "../upstream/target.ts";
import type { Channel } from "./channel.ts";
import { judge } from "./judge.ts";
import type { Place } from "./limits/places.ts";
import type { Candidate, Routing } from "./router.ts";

const DEFAULT_RETRIES = 2;

/** Services that all tries share. */
export interface TryServices extends TargetServices {
  routing: Pick<Routing, "random">;
  runs: RunCounts;
}

/** Wraps an error after which no other target is tried. */
export class FinalError extends Error {
  readonly error: unknown;
  constructor(error: unknown) {
    super("final");
    this.error = error;
  }
}

export class Tries {
  readonly #engine: TryServices;
  readonly #job: Job;
  readonly #candidate: Candidate;
  readonly #provider: ChatProvider;
  readonly #retries: number;
  #keysLeft: number;
  #retried = 0;
  #hasCountedFailure = false;
  /** The request failed with the gateway's additions, so it is sent without them. */
  #isBare = false;

  /** `forced`: the target is in cooldown and no other is in a better state, so it gets no retry. */
  constructor(
    engine: TryServices,
    job: Job,
    candidate: Candidate,
    provider: ChatProvider,
    forced: boolean,
  ) {
    this.#engine = engine;
    this.#job = job;
    this.#candidate = candidate;
    this.#provider = provider;
    const { channel } = candidate;
    this.#retries = forced ? 0 : (channel.config.maxRetries ?? DEFAULT_RETRIES);
    this.#keysLeft = channel.keyCount - 1;
  }

  /** Begins an attempt. It releases `place` when the response has ended. */
  begin(place: Place): Try {
    const { channel, model } = this.#candidate;
    const provider = this.#provider;
    const { trace, isJudged } = this.#job;
    const key = channel.takeKey(model);
    const { defaultBaseUrl } = provider;
    const bare = this.#isBare || channel.refusesAdditions;
    const options = { channel, model, apiKey: key.value, defaultBaseUrl, job: this.#job, bare };
    const target = new AttemptTarget(this.#engine, options);
    trace.channel = channel.name;
    trace.provider = provider.name;
    trace.composite = provider.composite === true;
    trace.judged = isJudged && provider.sends === true;
    trace.model = model;
    trace.attempts++;
    this.#job.isAttempting = true;
    trace.dropped = [];
    trace.changed = [];
    trace.additions = [];
    channel.begin(model);
    this.#engine.runs.countAttempt(provider.name);
    const current = new Try(this.#engine, this.#job, channel, provider, target, key.index, place);
    current.provesBare = this.#isBare;
    return current;
  }

  /**
   * Records a failed attempt and returns the delay before the next one in ms. Throws the error if this target is not
   * tried again, as a `FinalError` if no other target is either.
   */
  recordFailure({ target, keyIndex, attempt }: Try, thrown: unknown): number {
    const job = this.#job;
    const { trace } = job;
    const { channel, model, shape } = this.#candidate;
    const { name } = this.#provider;
    const masked = target.maskError(thrown);
    const error = isPorticoError(masked) || job.cancelled ? masked : providerFailure(name, masked);
    job.story.recordFailure(attempt, error);
    if (job.cancelled) {
      channel.recordNeutral(model);
      throw error;
    }
    job.isAttempting = false;
    if (trace.additions.length > 0 && !this.#isBare && mayRefuseAdditions(error)) {
      channel.recordNeutral(model);
      this.#isBare = true;
      trace.attempts--;
      return 0;
    }
    this.#engine.runs.countFailure(name, error);
    const next = judge(channel, model, keyIndex, error, {
      hasCountedFailure: this.#hasCountedFailure,
      fallbackOn: shape?.fallbackOn,
      retriesLeft: this.#retries - this.#retried,
      retriesMade: this.#retried,
      keysLeft: this.#keysLeft,
      random: this.#engine.routing.random,
    });
    this.#hasCountedFailure ||= isUpstreamError(error) && error.kind !== "auth";
    if (!isUpstreamError(error)) trace.attempts--;
    this.#engine.log.debug(
      { channel: channel.name, model, attempt: trace.attempts, err: error, next },
      "an attempt at a request failed",
    );
    if (next === "give up") throw new FinalError(error);
    if (next === "next target") throw error;
    if (next === "another key") {
      this.#keysLeft--;
      return 0;
    }
    this.#retried++;
    return next.again;
  }
}

/** One attempt. It holds its place until a streamed response has ended, which may be before `recordSuccess` is called. */
export class Try implements AttemptWatcher {
  readonly target: AttemptTarget;
  readonly keyIndex: number;
  readonly attempt: Attempt;
  /** The same request has just failed with additions: if it succeeds now, the additions were the cause. */
  provesBare = false;
  readonly #engine: TryServices;
  readonly #channel: Channel;
  readonly #provider: ChatProvider;
  readonly #place: Place;
  readonly #story: Story;
  /** Start of the attempt, in milliseconds after the start of the job. */
  readonly #beganMs: number;
  #hasBegun = false;
  #hasEnded = false;

  constructor(
    engine: TryServices,
    job: Job,
    channel: Channel,
    provider: ChatProvider,
    target: AttemptTarget,
    keyIndex: number,
    place: Place,
  ) {
    this.#engine = engine;
    this.#beganMs = performance.now() - job.startedAt;
    this.#story = job.story;
    this.attempt = job.story.begin(channel.name, target.model);
    this.#channel = channel;
    this.#provider = provider;
    this.target = target;
    this.keyIndex = keyIndex;
    this.#place = place;
  }

  recordSuccess(response: ChatResponse): void {
    this.#hasBegun = true;
    this.attempt.status = 200;
    this.attempt.firstByteMs = response.firstByteMs - this.#beganMs;
    if (this.provesBare) this.#channel.recordRefusedAdditions();
    if (this.#hasEnded || (response.stream ?? response.bytes) === undefined) this.#place.release();
    this.#channel.recordSuccess(
      this.target.model,
      this.keyIndex,
      response.firstByteMs - this.#beganMs,
    );
  }

  closed(): void {
    this.#hasEnded = true;
    this.#story.recordEnd(this.attempt);
    if (this.#hasBegun) this.#place.release();
  }

  broken(error: PorticoError): void {
    this.#story.recordFailure(this.attempt, error);
    this.#channel.recordNeutral(this.target.model, error.message);
    this.#engine.runs.countFailure(this.#provider.name, error);
  }
}

/** Whether the gateway requests the usage of a stream for which the client did not request it. */
export function asksForUsage(channel: Channel, provider: ChatProvider, job: Job): boolean {
  return (
    job.metered &&
    job.stream &&
    provider.wire?.streamUsage === true &&
    channel.config.streamUsage !== false &&
    !job.includeUsage
  );
}

/** Codes of errors of the connection: no request has reached the upstream. */
const UNREACHED =
  /^(?:ECONNREFUSED|ENOTFOUND|EAI_|EHOST|ENET|ETIMEDOUT|CERT_|ERR_TLS|DEPTH_|SELF_|UNABLE_)/;

/**
 * Whether the error may be caused by a field that the server does not know. Servers report that in many ways: a 400
 * that names the field or does not, a 422, a 500, plain text, an empty stream, a closed connection. Limits, keys,
 * unknown models and timeouts have other causes.
 */
function mayRefuseAdditions(error: unknown): boolean {
  if (!isUpstreamError(error)) return false;
  const { kind, code, upstreamStatus, cause } = error;
  if (kind === "request") return code !== CONTEXT_LENGTH && ![404, 413].includes(upstreamStatus);
  if (kind !== "upstream" || error instanceof ResponseTooLarge) return false;
  return !UNREACHED.test(String((cause as NodeJS.ErrnoException | undefined)?.code ?? ""));
}
