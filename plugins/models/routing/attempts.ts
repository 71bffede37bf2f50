/**
 * Tries the targets of a request: retries one, waits, falls back to the next. No state of one attempt reaches the next.
 */
import type { PorticoError } from "portico";
import { type ChatProvider, isUpstreamError, type WireProvider } from "portico/provider";
import type { Budgets } from "./budget.ts";
import type { Channel } from "./channel.ts";
import type { Place } from "./limits/places.ts";
import type { Spending } from "./limits/spending.ts";
import type { ChatResponse } from "../chat-response.ts";
import { clientDisconnected, type Job } from "../job.ts";
import { attemptLocal } from "../upstream/local/local-attempt.ts";
import {
  busyError,
  cooldownOf,
  hasBudget,
  limitError,
  selectTargets,
  skipReason,
  selectAffordable,
} from "./select-targets.ts";
import { type Candidate, type Routing, resolve, resolveList } from "./router.ts";
import { asksForUsage, FinalError, Tries, type Try, type TryServices } from "./tries.ts";
import { checkTranslated } from "../upstream/untranslated.ts";
import { attemptWire } from "../upstream/wire/wire-attempt.ts";
import type { Signatures } from "../signatures/signatures.ts";
import { rememberSignatures } from "../signatures/watch-response.ts";
import { errors } from "../errors.ts";

const DEFAULT_TIMEOUT_MS = 300_000;
const DEFAULT_IDLE_TIMEOUT_MS = 120_000;
const DEFAULT_MAX_EVENT_BYTES = 16 * 1024 * 1024;

export interface Engine extends TryServices {
  routing: Routing;
  provider(name: string): ChatProvider | undefined;
  budgets: Budgets;
  signatures: Signatures;
  spending: Spending;
}

/**
 * Resolves to the beginning of the response of the first target that succeeds. Throws the last target's error.
 * `job.trace` then names the target and the number of attempts.
 */
export function converse(engine: Engine, job: Job): Promise<ChatResponse> {
  const { request, fallbacks, channel } = job;
  if (fallbacks.length > 0)
    return resolveList(engine.routing, [request.model, ...fallbacks], channel).then((candidates) =>
      askCached(engine, job, candidates),
    );
  const candidates = resolve(engine.routing, request.model, channel);
  // Nearly all requests need not wait here, and each additional promise costs about as much as the routing.
  return candidates instanceof Promise
    ? candidates.then((candidates) => askCached(engine, job, candidates))
    : askCached(engine, job, candidates);
}

function askCached(engine: Engine, job: Job, candidates: Candidate[]): Promise<ChatResponse> {
  const shape = candidates[0]?.shape;
  if (shape?.cache === undefined || !job.cacheable) return askTargets(engine, job, candidates);
  return shape.cache.respond(job, shape, () => askTargets(engine, job, candidates));
}

async function askTargets(
  engine: Engine,
  job: Job,
  allCandidates: Candidate[],
): Promise<ChatResponse> {
  const outcome = new Outcome();
  const affordable = allCandidates.some(hasBudget)
    ? await selectAffordable(engine.budgets, allCandidates, (error) => outcome.fail(error))
    : allCandidates;
  const { candidates, forced } = selectTargets(affordable);
  if (candidates.length < allCandidates.length) recordSkipped(job, allCandidates, candidates);
  for (const candidate of candidates) {
    const response = await askTarget(engine, job, candidate, { forced, outcome });
    if (response !== undefined) return response;
  }
  return outcome.settle();
}

/** The outcome of the targets that were tried. */
class Outcome {
  #error: unknown;
  #filtered: ChatResponse | undefined;

  get hasFailed(): boolean {
    return this.#error !== undefined;
  }

  /** Records why a target was skipped. The error counts only if no target fails. */
  refuse(error: unknown): void {
    this.#error ??= error;
  }

  /**
   * Records a failure. An upstream's error replaces one of the gateway's own (a target that cannot express the
   * request).
   */
  fail(error: unknown): void {
    if (this.#error === undefined || isUpstreamError(error)) this.#error = error;
  }

  /** Keeps a response that the target's filter has cut, for the case that no other target succeeds. */
  keep(response: ChatResponse): void {
    this.#filtered = response;
  }

  settle(): ChatResponse {
    if (this.#filtered !== undefined) return this.#filtered;
    throw this.#error;
  }
}

interface TargetOptions {
  /** All targets are in cooldown, so cooldowns are ignored. */
  forced: boolean;
  outcome: Outcome;
}

/** Returns undefined if the next target is to be tried. Throws errors that no other target can change. */
async function askTarget(
  engine: Engine,
  job: Job,
  candidate: Candidate,
  { forced, outcome }: TargetOptions,
): Promise<ChatResponse | undefined> {
  const limit = candidate.channel.overLimit();
  if (limit !== undefined)
    return passOver(job, candidate, limitError(candidate.channel, limit), outcome);
  if (outcome.hasFailed && !forced && cooldownOf(candidate) !== 0) return undefined;
  const taking = takePlace(job, candidate);
  const place = taking instanceof Promise ? await taking : taking;
  if (place === undefined) return passOver(job, candidate, busyError(candidate.channel), outcome);
  try {
    const response = await tryTarget(engine, job, candidate, { place, forced });
    if (!isFiltered(candidate, response)) return response;
    outcome.keep(response);
  } catch (error) {
    place.release();
    if (error instanceof FinalError) throw error.error;
    if (job.cancelled) throw clientDisconnected();
    job.story.skip(candidate.channel.name, candidate.model, error);
    outcome.fail(error);
  }
  return undefined;
}

function passOver(
  job: Job,
  { channel, model }: Candidate,
  refusal: PorticoError,
  outcome: Outcome,
): undefined {
  job.story.skip(channel.name, model, refusal);
  outcome.refuse(refusal);
}

/** Takes a place in the channel. The result is undefined if none became free in time. */
function takePlace(
  job: Job,
  { channel }: Candidate,
): Place | undefined | Promise<Place | undefined> {
  const hasLimit = channel.config.maxConcurrent !== undefined;
  const place = channel.takePlace(hasLimit ? job.signal : undefined);
  return place instanceof Promise
    ? place.then((granted) => keepPlace(job, granted))
    : keepPlace(job, place);
}

/** Releases the place and throws if the client has disconnected meanwhile. */
function keepPlace(job: Job, place: Place | undefined): Place | undefined {
  if (!job.cancelled) return place;
  place?.release();
  throw clientDisconnected();
}

/**
 * Tries one target until it responds. Throws the error that ends the tries at this target, as a `FinalError` if no
 * other target is to be tried either.
 */
async function tryTarget(
  engine: Engine,
  job: Job,
  candidate: Candidate,
  { place, forced }: { place: Place; forced: boolean },
): Promise<ChatResponse> {
  const { channel } = candidate;
  job.applyShape(candidate.shape);
  const provider = providerOf(engine, channel);
  const reserving = job.account?.reserve(candidate, provider);
  if (reserving !== undefined) await reserving;
  const tries = new Tries(engine, job, candidate, provider, forced);
  for (;;) {
    if (job.cancelled) throw clientDisconnected();
    const admitting = channel.admit();
    const limit = admitting === undefined ? undefined : await admitting;
    if (limit !== undefined) throw limitError(channel, limit);
    if (job.cancelled) throw clientDisconnected();
    const current = tries.begin(place);
    const response = await tryOnce(engine, job, candidate, { provider, tries, current });
    if (response === undefined) continue;
    current.recordSuccess(response);
    return response;
  }
}

/** Returns undefined if the same target is to be tried again. */
async function tryOnce(
  engine: Engine,
  job: Job,
  { channel, model }: Candidate,
  { provider, tries, current }: { provider: ChatProvider; tries: Tries; current: Try },
): Promise<ChatResponse | undefined> {
  let response: ChatResponse;
  try {
    response = await attemptOnce(engine, job, { channel, provider, current });
  } catch (error) {
    const waitMs = tries.recordFailure(current, error);
    if (waitMs > 0) await pause(waitMs, job);
    return undefined;
  }
  if (!job.cancelled) return response;
  (response.stream ?? response.bytes)?.cancel();
  channel.recordNeutral(model);
  throw clientDisconnected();
}

/** Adds the targets that are skipped from the start to the story of the request. */
function recordSkipped(job: Job, allCandidates: Candidate[], selected: readonly Candidate[]): void {
  for (const candidate of allCandidates)
    if (!selected.includes(candidate))
      job.story.skip(candidate.channel.name, candidate.model, skipReason(candidate));
}

/** Whether the target's filter has cut a whole response and the alias then falls back to its next target. */
function isFiltered({ shape }: Candidate, { completion }: ChatResponse): boolean {
  if (shape === undefined || !shape.fallbackOn.has("content_filter")) return false;
  return completion?.choices[0]?.finish_reason === "content_filter";
}

function providerOf(engine: Engine, channel: Channel): ChatProvider {
  const provider = engine.provider(channel.config.provider);
  if (provider !== undefined) return provider;
  throw errors.providerMissing({ channel: channel.name, provider: channel.config.provider });
}

interface AttemptParts {
  channel: Channel;
  provider: ChatProvider;
  current: Try;
}

function attemptOnce(engine: Engine, job: Job, attempt: AttemptParts): Promise<ChatResponse> {
  const { channel, provider, current } = attempt;
  if (provider.wire === undefined) return attemptInProcess(job, attempt);
  if (current.target.baseUrl === "") throw errors.baseUrlMissing({ channel: channel.name });
  return attemptOverHttp(engine, job, attempt, provider.wire);
}

function attemptInProcess(job: Job, { channel, provider, current }: AttemptParts) {
  if (job.translated) checkTranslated(job);
  const { timeoutMs, idleTimeoutMs } = channel.config;
  // A provider that calls other models waits as long as those may take.
  const isPatient = provider.composite === true;
  return attemptLocal({
    provider,
    target: current.target,
    job,
    timeoutMs: timeoutMs ?? (isPatient ? undefined : DEFAULT_TIMEOUT_MS),
    idleTimeoutMs: idleTimeoutMs ?? (isPatient ? undefined : DEFAULT_IDLE_TIMEOUT_MS),
    watcher: current,
  });
}

function attemptOverHttp(
  engine: Engine,
  job: Job,
  { channel, provider, current }: AttemptParts,
  wire: WireProvider,
): Promise<ChatResponse> {
  const { config } = channel;
  const { target } = current;
  const isSigned = wire.signsReasoning?.(target) === true && mayHoldCalls(job);
  const signatures = isSigned ? engine.signatures : undefined;
  // The calls in the response must be parsed to remember their signatures.
  if (isSigned) job.mayPassRaw = false;
  const response = attemptWire({
    client: engine.upstreams,
    wire,
    signatures,
    target,
    job,
    timeoutMs: config.timeoutMs ?? DEFAULT_TIMEOUT_MS,
    idleTimeoutMs: config.idleTimeoutMs ?? DEFAULT_IDLE_TIMEOUT_MS,
    maxEventBytes: config.maxEventBytes ?? DEFAULT_MAX_EVENT_BYTES,
    askUsage: !target.bare && asksForUsage(channel, provider, job),
    watcher: current,
  });
  if (signatures === undefined) return response;
  return response.then((response) => rememberSignatures(signatures, response, job, channel.name));
}

/** Clients send back signatures only with tool calls. */
function mayHoldCalls({ request }: Job): boolean {
  return request.tools != null || request.messages.some((message) => message.tool_calls != null);
}

function pause(ms: number, job: Job): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(finish, ms);
    const canceller = { cancel: finish };
    job.onCancel(canceller);
    function finish(): void {
      clearTimeout(timer);
      job.offCancel(canceller);
      resolve();
    }
  });
}
