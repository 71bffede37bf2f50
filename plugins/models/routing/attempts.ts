/** Tries the targets of a request: retries, waits, goes on to the next. Nothing of one attempt reaches the next. */
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
  busy,
  cooldownOf,
  hasBudget,
  limited,
  selectTargets,
  skipReason,
  withBudgets,
} from "./select-targets.ts";
import { type Candidate, type Routing, resolve, resolveList } from "./router.ts";
import { asksForUsage, Final, Tries, type Try, type TryServices } from "./tries.ts";
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
 * The beginning of a response from the first target that gives one. Throws the last target's error; `job.trace` says
 * where it came from and after how many attempts.
 */
export function converse(engine: Engine, job: Job): Promise<ChatResponse> {
  const { request, fallbacks, channel } = job;
  if (fallbacks.length > 0)
    return resolveList(engine.routing, [request.model, ...fallbacks], channel).then((all) =>
      askCached(engine, job, all),
    );
  const own = resolve(engine.routing, request.model, channel);
  // Nothing to wait for, as with nearly all requests: each promise on the way costs about as much as the routing.
  return own instanceof Promise
    ? own.then((all) => askCached(engine, job, all))
    : askCached(engine, job, own);
}

function askCached(engine: Engine, job: Job, all: Candidate[]): Promise<ChatResponse> {
  const shape = all[0]?.shape;
  if (shape?.cache === undefined || !job.cacheable) return askTargets(engine, job, all);
  return shape.cache.answer(job, shape, () => askTargets(engine, job, all));
}

async function askTargets(engine: Engine, job: Job, all: Candidate[]): Promise<ChatResponse> {
  const outcome = new Outcome();
  const known = all.some(hasBudget)
    ? await withBudgets(engine.budgets, all, (error) => outcome.fail(error))
    : all;
  const { candidates, forced } = selectTargets(known);
  if (candidates.length < all.length) noteSkipped(job, all, candidates);
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

  /** The target was passed over: the error counts where there is no other. */
  refuse(error: unknown): void {
    this.#error ??= error;
  }

  /** A refusal of the gateway's own (a target that cannot express the request) gives way to an upstream's error. */
  fail(error: unknown): void {
    if (this.#error === undefined || isUpstreamError(error)) this.#error = error;
  }

  /** A response that the target's filter has cut is better than nothing. */
  keep(response: ChatResponse): void {
    this.#filtered = response;
  }

  settle(): ChatResponse {
    if (this.#filtered !== undefined) return this.#filtered;
    throw this.#error;
  }
}

interface Asking {
  /** There is no target in a better state: cooldowns do not count. */
  forced: boolean;
  outcome: Outcome;
}

/** Undefined if the next target is to be tried. Throws errors that no other target can change. */
async function askTarget(
  engine: Engine,
  job: Job,
  candidate: Candidate,
  { forced, outcome }: Asking,
): Promise<ChatResponse | undefined> {
  const limit = candidate.channel.overLimit();
  if (limit !== undefined)
    return passOver(job, candidate, limited(candidate.channel, limit), outcome);
  if (outcome.hasFailed && !forced && cooldownOf(candidate) !== 0) return undefined;
  const taken = takePlace(job, candidate);
  const place = taken instanceof Promise ? await taken : taken;
  if (place === undefined) return passOver(job, candidate, busy(candidate.channel), outcome);
  try {
    const response = await tryTarget(engine, job, candidate, { place, forced });
    if (!isFiltered(candidate, response)) return response;
    outcome.keep(response);
  } catch (error) {
    place.release();
    if (error instanceof Final) throw error.error;
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

/** A place in the channel, or a promise of one; undefined where none became free in time. */
function takePlace(
  job: Job,
  { channel }: Candidate,
): Place | undefined | Promise<Place | undefined> {
  const hasLimit = channel.config.maxConcurrent !== undefined;
  const place = channel.place(hasLimit ? job.signal : undefined);
  return place instanceof Promise
    ? place.then((granted) => keepPlace(job, granted))
    : keepPlace(job, place);
}

/** Throws where the client has disconnected meanwhile. */
function keepPlace(job: Job, place: Place | undefined): Place | undefined {
  if (!job.cancelled) return place;
  place?.release();
  throw clientDisconnected();
}

/** Tries one target until it answers. Throws what ends the tries at it; `Final` where it ends those at others too. */
async function tryTarget(
  engine: Engine,
  job: Job,
  candidate: Candidate,
  { place, forced }: { place: Place; forced: boolean },
): Promise<ChatResponse> {
  const { channel } = candidate;
  job.shape(candidate.shape);
  const provider = providerOf(engine, channel);
  const reserving = job.account?.reserve(candidate, provider);
  if (reserving !== undefined) await reserving;
  const tries = new Tries(engine, job, candidate, provider, forced);
  for (;;) {
    if (job.cancelled) throw clientDisconnected();
    const admitting = channel.admit();
    const limit = admitting === undefined ? undefined : await admitting;
    if (limit !== undefined) throw limited(channel, limit);
    if (job.cancelled) throw clientDisconnected();
    const current = tries.begin(place);
    const response = await tryOnce(engine, job, candidate, { provider, tries, current });
    if (response === undefined) continue;
    current.succeeded(response);
    return response;
  }
}

/** Undefined where the same target is to be tried again. */
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
    const waitMs = tries.failed(current, error);
    if (waitMs > 0) await pause(waitMs, job);
    return undefined;
  }
  if (!job.cancelled) return response;
  (response.stream ?? response.bytes)?.cancel();
  channel.noted(model);
  throw clientDisconnected();
}

/** Targets that are passed over from the start. */
function noteSkipped(job: Job, all: Candidate[], asked: readonly Candidate[]): void {
  for (const candidate of all)
    if (!asked.includes(candidate))
      job.story.skip(candidate.channel.name, candidate.model, skipReason(candidate));
}

/** A whole response that the target's filter has cut, where the alias goes on then. */
function isFiltered({ shape }: Candidate, { completion }: ChatResponse): boolean {
  if (shape === undefined || !shape.fallbackOn.has("content_filter")) return false;
  return completion?.choices[0]?.finish_reason === "content_filter";
}

function providerOf(engine: Engine, channel: Channel): ChatProvider {
  const provider = engine.provider(channel.config.provider);
  if (provider !== undefined) return provider;
  throw errors.providerMissing({ channel: channel.name, provider: channel.config.provider });
}

interface OneAttempt {
  channel: Channel;
  provider: ChatProvider;
  current: Try;
}

function attemptOnce(engine: Engine, job: Job, attempt: OneAttempt): Promise<ChatResponse> {
  const { channel, provider, current } = attempt;
  if (provider.wire === undefined) return attemptInProcess(job, attempt);
  if (current.target.baseUrl === "") throw errors.baseUrlMissing({ channel: channel.name });
  return attemptOverHttp(engine, job, attempt, provider.wire);
}

function attemptInProcess(job: Job, { channel, provider, current }: OneAttempt) {
  if (job.translated) checkTranslated(job);
  const { timeoutMs, idleTimeoutMs } = channel.config;
  // What asks other models waits as long as they may take.
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
  { channel, provider, current }: OneAttempt,
  wire: WireProvider,
): Promise<ChatResponse> {
  const { config } = channel;
  const { target } = current;
  const isSigned = wire.signsReasoning?.(target) === true && mayHoldCalls(job);
  const signatures = isSigned ? engine.signatures : undefined;
  // Its calls are read.
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
  return response.then((begun) => rememberSignatures(signatures, begun, job, channel.name));
}

/** Only calls of tools are sent back with signatures. */
function mayHoldCalls({ request }: Job): boolean {
  return request.tools != null || request.messages.some((message) => message.tool_calls != null);
}

function pause(ms: number, job: Job): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(done, ms);
    const worker = { cancel: done };
    job.onCancel(worker);
    function done(): void {
      clearTimeout(timer);
      job.offCancel(worker);
      resolve();
    }
  });
}
