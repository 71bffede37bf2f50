/** Goes through the targets of a request: retries, waits, moves on. Nothing of one attempt reaches the next. */
import { isPorticoError, type Logger, PorticoError } from "portico";
import { type ChatProvider, isUpstreamError } from "portico/chat";
import type { Budgets } from "./budget.ts";
import type { Channel } from "./channel.ts";
import type { Release } from "./limits/places.ts";
import { type ChatResponse, clientDisconnected, type Job } from "../job.ts";
import { attemptLocal } from "../upstream/local/local-attempt.ts";
import { providerFailure } from "../upstream/local/provider-failed.ts";
import type { RunCounts } from "../upstream/run-counts.ts";
import { judge } from "./judge.ts";
import { busy, cooldownOf, hasBudget, limited, selectTargets, withBudgets } from "./select-targets.ts";
import { type Candidate, type Routing, resolve, withFallbacks } from "./router.ts";
import { AttemptTarget, type TargetServices } from "../upstream/target.ts";
import type { Masks } from "../secrets/masks.ts";
import type { UpstreamClient } from "../upstream/http/upstream-client.ts";
import { attemptWire } from "../upstream/wire/wire-attempt.ts";

const DEFAULT_TIMEOUT_MS = 300_000;
const DEFAULT_IDLE_TIMEOUT_MS = 120_000;
const DEFAULT_RETRIES = 2;

export interface Engine extends TargetServices {
  routing: Routing;
  provider(name: string): ChatProvider | undefined;
  budgets: Budgets;
  runs: RunCounts;
}

/**
 * The beginning of a response from the first target that gives one. Throws the last target's error; `job.trace` says
 * where it came from and after how many attempts.
 */
export function converse(engine: Engine, job: Job): Promise<ChatResponse> {
  const own = resolve(engine.routing, job.request.model, job.channel);
  // Nothing to wait for, as with nearly all requests: each promise on the way costs about as much as the routing.
  if (!(own instanceof Promise) && job.fallbacks.length === 0) return askCached(engine, job, own);
  return withFallbacks(engine.routing, own, job.fallbacks).then((all) => askCached(engine, job, all));
}

function askCached(engine: Engine, job: Job, all: Candidate[]): Promise<ChatResponse> {
  const shape = all[0]?.shape;
  if (shape?.cache === undefined || !job.cacheable) return askTargets(engine, job, all);
  return shape.cache.answer(job, shape, () => askTargets(engine, job, all));
}

async function askTargets(engine: Engine, job: Job, all: Candidate[]): Promise<ChatResponse> {
  let last: unknown;
  const known = all.some(hasBudget) ? await withBudgets(engine.budgets, all, (error) => (last = error)) : all;
  const { candidates, forced } = selectTargets(known);
  /** What a target gave whose filter has cut it; better than nothing. */
  let refused: ChatResponse | undefined;
  for (const candidate of candidates) {
    const { channel } = candidate;
    const over = channel.overLimit();
    if (over !== undefined) {
      last ??= limited(channel, over);
      continue;
    }
    if (last !== undefined && !forced && cooldownOf(candidate) !== 0) continue;
    const placing = channel.place(channel.config.maxConcurrent === undefined ? undefined : job.signal);
    const place = placing instanceof Promise ? await placing : placing;
    if (job.cancelled) {
      place?.();
      throw clientDisconnected();
    }
    if (place === undefined) {
      last ??= busy(channel);
      continue;
    }
    try {
      job.shape(candidate.shape);
      const response = await tryChannel(engine, job, candidate, place, forced);
      if (!filtered(candidate, response)) return response;
      refused = response;
    } catch (error) {
      place();
      if (job.cancelled || error instanceof Final) throw error instanceof Final ? error.error : clientDisconnected();
      // A refusal of our own (a target that cannot express the request) gives way to what an upstream said.
      if (last === undefined || isUpstreamError(error)) last = error;
    }
  }
  if (refused !== undefined) return refused;
  throw last;
}

/** A whole response that the target's filter has cut, where the alias goes on then. */
function filtered({ shape }: Candidate, { completion }: ChatResponse): boolean {
  if (shape === undefined || !shape.fallbackOn.has("content_filter")) return false;
  return completion?.choices[0]?.finish_reason === "content_filter";
}

/** An error that no other target is asked about. */
class Final extends Error {
  readonly error: unknown;
  constructor(error: unknown) {
    super("final");
    this.error = error;
  }
}

async function tryChannel(
  engine: Engine,
  job: Job,
  { channel, model, shape }: Candidate,
  place: Release,
  forced: boolean,
): Promise<ChatResponse> {
  const provider = engine.provider(channel.config.provider);
  if (provider === undefined) {
    throw new PorticoError(
      "service_unavailable",
      `The provider \`${channel.config.provider}\` of channel \`${channel.name}\` is not there: see \`portico plugins list\`.`,
      { type: "api_error" },
    );
  }
  const retries = forced ? 0 : (channel.config.maxRetries ?? DEFAULT_RETRIES);
  let keysLeft = channel.keyCount - 1;
  let counted = false;
  for (let tried = 0; ; ) {
    const asking = channel.admit();
    const over = asking && (await asking);
    if (over !== undefined) throw limited(channel, over);
    if (job.cancelled) throw clientDisconnected();
    const key = channel.takeKey(model);
    const { defaultBaseUrl } = provider;
    const target = new AttemptTarget(engine, { channel, model, apiKey: key.value, defaultBaseUrl, job });
    const { trace } = job;
    trace.channel = channel.name;
    trace.provider = provider.name;
    trace.composite = provider.composite === true;
    trace.judged = job.leaves && provider.sends === true;
    trace.model = model;
    trace.attempts++;
    trace.dropped = [];
    channel.begin(model);
    engine.runs.asked(provider.name);
    const startedAt = performance.now();
    try {
      const hold = new Hold(place);
      const response = await attemptOnce(engine, job, channel, provider, target, hold);
      if (job.cancelled) {
        response.stream?.cancel();
        throw clientDisconnected();
      }
      hold.begin(response);
      channel.succeeded(model, key.index, performance.now() - startedAt);
      return response;
    } catch (caught) {
      const hidden = target.hide(caught);
      const error = isPorticoError(hidden) || job.cancelled ? hidden : providerFailure(provider.name, hidden);
      if (job.cancelled) {
        channel.noted(model);
        throw error;
      }
      if (askedForUsage(channel, provider, job) && refusesUsageOption(error)) {
        channel.noted(model);
        channel.noStreamUsage = true;
        trace.attempts--;
        continue;
      }
      engine.runs.failed(provider.name, error);
      const next = judge(channel, model, key.index, error, {
        counted,
        fallbackOn: shape?.fallbackOn,
        retriesLeft: retries - tried,
        tried,
        keysLeft,
        random: engine.routing.random,
      });
      counted ||= isUpstreamError(error) && error.kind !== "auth";
      if (!isUpstreamError(error)) trace.attempts--;
      engine.log.debug({ channel: channel.name, model, attempt: trace.attempts, err: error, next }, "attempt failed");
      if (next === "give up") throw new Final(error);
      if (next === "next target") throw error;
      if (next === "another key") {
        keysLeft--;
        continue;
      }
      tried++;
      await pause(next.again, job);
      if (job.cancelled) throw clientDisconnected();
    }
  }
}

function attemptOnce(
  engine: Engine,
  job: Job,
  channel: Channel,
  provider: ChatProvider,
  target: AttemptTarget,
  hold: Hold,
): Promise<ChatResponse> {
  const { config } = channel;
  const onBroken = (error: PorticoError) => {
    channel.noted(target.model, error.message);
    engine.runs.failed(provider.name, error);
  };
  if (provider.wire === undefined) {
    // What asks other models waits as long as they may take.
    const patient = provider.composite === true;
    return attemptLocal({
      provider,
      target,
      job,
      timeoutMs: config.timeoutMs ?? (patient ? undefined : DEFAULT_TIMEOUT_MS),
      idleTimeoutMs: config.idleTimeoutMs ?? (patient ? undefined : DEFAULT_IDLE_TIMEOUT_MS),
      onClose: hold.close,
      onBroken,
    });
  }
  if (target.baseUrl === "") {
    throw new PorticoError("service_unavailable", `The channel \`${channel.name}\` needs a baseUrl.`, {
      type: "api_error",
    });
  }
  return attemptWire({
    client: engine.upstreams,
    wire: provider.wire,
    target,
    job,
    timeoutMs: config.timeoutMs ?? DEFAULT_TIMEOUT_MS,
    idleTimeoutMs: config.idleTimeoutMs ?? DEFAULT_IDLE_TIMEOUT_MS,
    askUsage: askedForUsage(channel, provider, job),
    onClose: hold.close,
    onBroken,
  });
}

/** The client does not want to hear of the usage of its stream, but somebody counts. */
function askedForUsage(channel: Channel, provider: ChatProvider, job: Job): boolean {
  return (
    job.metered &&
    job.stream &&
    provider.wire?.streamUsage === true &&
    !channel.noStreamUsage &&
    channel.config.streamUsage !== false &&
    !job.includeUsage
  );
}

/** A server that is strict about fields which it does not know. */
function refusesUsageOption(error: unknown): boolean {
  return isUpstreamError(error) && error.kind === "request" && /stream_options|include_usage/.test(error.message);
}

/** Holds a place until a streamed response has ended; its end may come before its beginning was heard of. */
class Hold {
  readonly #place: Release;
  #begun = false;
  #over = false;
  constructor(place: Release) {
    this.#place = place;
  }
  readonly close = (): void => {
    this.#over = true;
    if (this.#begun) this.#place();
  };
  begin(response: ChatResponse): void {
    this.#begun = true;
    if (this.#over || response.stream === undefined) this.#place();
  }
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
