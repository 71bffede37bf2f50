/** The tries at one target: with which key, how often, and what each shows about the channel. */
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

/** An error after which no other target is tried. */
export class Final extends Error {
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
  #counted = false;
  /** The request goes out without the gateway's additions: with them it has failed. */
  #isBare = false;

  /** `forced`: there is no target in a better state, and so none for a second try either. */
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

  /** `place`: in the channel, which is given back with the response's end. */
  begin(place: Place): Try {
    const { channel, model } = this.#candidate;
    const provider = this.#provider;
    const { trace, leaves } = this.#job;
    const key = channel.takeKey(model);
    const { defaultBaseUrl } = provider;
    const bare = this.#isBare || channel.refusesAdditions;
    const options = { channel, model, apiKey: key.value, defaultBaseUrl, job: this.#job, bare };
    const target = new AttemptTarget(this.#engine, options);
    trace.channel = channel.name;
    trace.provider = provider.name;
    trace.composite = provider.composite === true;
    trace.judged = leaves && provider.sends === true;
    trace.model = model;
    trace.attempts++;
    this.#job.isAsking = true;
    trace.dropped = [];
    trace.changed = [];
    trace.additions = [];
    channel.begin(model);
    this.#engine.runs.asked(provider.name);
    const current = new Try(this.#engine, this.#job, channel, provider, target, key.index, place);
    current.provesBare = this.#isBare;
    return current;
  }

  /** Milliseconds to the next one; throws what ends those at this target, `Final` where it ends those at others too. */
  failed({ target, keyIndex, attempt }: Try, caught: unknown): number {
    const job = this.#job;
    const { trace } = job;
    const { channel, model, shape } = this.#candidate;
    const { name } = this.#provider;
    const hidden = target.hide(caught);
    const error = isPorticoError(hidden) || job.cancelled ? hidden : providerFailure(name, hidden);
    job.story.failed(attempt, error);
    if (job.cancelled) {
      channel.noted(model);
      throw error;
    }
    job.isAsking = false;
    if (trace.additions.length > 0 && !this.#isBare && mayRefuseAdditions(error)) {
      channel.noted(model);
      this.#isBare = true;
      trace.attempts--;
      return 0;
    }
    this.#engine.runs.failed(name, error);
    const next = judge(channel, model, keyIndex, error, {
      counted: this.#counted,
      fallbackOn: shape?.fallbackOn,
      retriesLeft: this.#retries - this.#retried,
      tried: this.#retried,
      keysLeft: this.#keysLeft,
      random: this.#engine.routing.random,
    });
    this.#counted ||= isUpstreamError(error) && error.kind !== "auth";
    if (!isUpstreamError(error)) trace.attempts--;
    this.#engine.log.debug(
      { channel: channel.name, model, attempt: trace.attempts, err: error, next },
      "attempt failed",
    );
    if (next === "give up") throw new Final(error);
    if (next === "next target") throw error;
    if (next === "another key") {
      this.#keysLeft--;
      return 0;
    }
    this.#retried++;
    return next.again;
  }
}

/** One of them. Holds its place until a streamed response has ended, whose end may come before its beginning was heard of. */
export class Try implements AttemptWatcher {
  readonly target: AttemptTarget;
  readonly keyIndex: number;
  readonly attempt: Attempt;
  /** With additions the same request has just failed: where it succeeds now, they were the cause. */
  provesBare = false;
  readonly #engine: TryServices;
  readonly #channel: Channel;
  readonly #provider: ChatProvider;
  readonly #place: Place;
  readonly #story: Story;
  /** Of its job's time. */
  readonly #beganMs: number;
  #begun = false;
  #over = false;

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

  /** The response has begun. */
  succeeded(response: ChatResponse): void {
    this.#begun = true;
    this.attempt.status = 200;
    this.attempt.firstByteMs = response.firstByteMs - this.#beganMs;
    if (this.provesBare) this.#channel.additionsRefused();
    if (this.#over || (response.stream ?? response.bytes) === undefined) this.#place.release();
    this.#channel.succeeded(this.target.model, this.keyIndex, response.firstByteMs - this.#beganMs);
  }

  closed(): void {
    this.#over = true;
    this.#story.ended(this.attempt);
    if (this.#begun) this.#place.release();
  }

  broken(error: PorticoError): void {
    this.#story.failed(this.attempt, error);
    this.#channel.noted(this.target.model, error.message);
    this.#engine.runs.failed(this.#provider.name, error);
  }
}

/** Whether the usage of a stream is counted although the client did not ask for it. */
export function asksForUsage(channel: Channel, provider: ChatProvider, job: Job): boolean {
  return (
    job.metered &&
    job.stream &&
    provider.wire?.streamUsage === true &&
    channel.config.streamUsage !== false &&
    !job.includeUsage
  );
}

/** Of our own connection: no request has reached the upstream. */
const UNREACHED =
  /^(?:ECONNREFUSED|ENOTFOUND|EAI_|EHOST|ENET|ETIMEDOUT|CERT_|ERR_TLS|DEPTH_|SELF_|UNABLE_)/;

/**
 * Servers that do not know a field say so in many ways: a 400 that names it or does not, a 422, a 500, plain text, an empty
 * stream, a connection that is closed. Limits, keys, unknown models and time-outs have other causes.
 */
function mayRefuseAdditions(error: unknown): boolean {
  if (!isUpstreamError(error)) return false;
  const { kind, code, upstreamStatus, cause } = error;
  if (kind === "request") return code !== CONTEXT_LENGTH && ![404, 413].includes(upstreamStatus);
  if (kind !== "upstream" || error instanceof ResponseTooLarge) return false;
  return !UNREACHED.test(String((cause as NodeJS.ErrnoException | undefined)?.code ?? ""));
}
