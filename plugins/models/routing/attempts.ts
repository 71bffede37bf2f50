/** Goes through the targets of a request: retries, waits, moves on. Nothing of one attempt reaches the next. */
import { PorticoError } from "portico";
import { type ChatProvider, isUpstreamError } from "portico/provider";
import type { Budgets } from "./budget.ts";
import type { Channel } from "./channel.ts";
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
  let last: unknown;
  const known = all.some(hasBudget)
    ? await withBudgets(engine.budgets, all, (error) => (last = error))
    : all;
  const { candidates, forced } = selectTargets(known);
  if (candidates.length < all.length) noteSkipped(job, all, candidates);
  /** What a target gave whose filter has cut it; better than nothing. */
  let refused: ChatResponse | undefined;
  // by number: an iterator, and each of its results, would live as long as the request
  for (let i = 0; i < candidates.length; i++) {
    const candidate = candidates[i]!;
    const { channel } = candidate;
    const over = channel.overLimit();
    if (over !== undefined) {
      const refusal = limited(channel, over);
      job.story.skip(channel.name, candidate.model, refusal);
      last ??= refusal;
      continue;
    }
    if (last !== undefined && !forced && cooldownOf(candidate) !== 0) continue;
    const placing = channel.place(
      channel.config.maxConcurrent === undefined ? undefined : job.signal,
    );
    const place = placing instanceof Promise ? await placing : placing;
    if (job.cancelled) {
      place?.release();
      throw clientDisconnected();
    }
    if (place === undefined) {
      const refusal = busy(channel);
      job.story.skip(channel.name, candidate.model, refusal);
      last ??= refusal;
      continue;
    }
    try {
      job.shape(candidate.shape);
      const provider = providerOf(engine, channel);
      const reserving = job.account?.reserve(candidate, provider);
      if (reserving !== undefined) await reserving;
      const tries = new Tries(engine, job, candidate, provider, forced);
      let response: ChatResponse | undefined;
      while (response === undefined) {
        const asking = job.cancelled ? undefined : channel.admit();
        const full = asking && (await asking);
        if (full !== undefined) throw limited(channel, full);
        if (job.cancelled) throw clientDisconnected();
        const one = tries.begin(place);
        try {
          response = await attemptOnce(engine, job, channel, provider, one);
        } catch (error) {
          const waitMs = tries.failed(one, error);
          if (waitMs > 0) await pause(waitMs, job);
          continue;
        }
        if (job.cancelled) {
          (response.stream ?? response.bytes)?.cancel();
          channel.noted(candidate.model);
          throw clientDisconnected();
        }
        one.succeeded(response);
      }
      if (!filtered(candidate, response)) return response;
      refused = response;
    } catch (error) {
      place.release();
      if (job.cancelled || error instanceof Final)
        throw error instanceof Final ? error.error : clientDisconnected();
      job.story.skip(channel.name, candidate.model, error);
      // A refusal of our own (a target that cannot express the request) gives way to what an upstream said.
      if (last === undefined || isUpstreamError(error)) last = error;
    }
  }
  if (refused !== undefined) return refused;
  throw last;
}

/** Targets that are passed over from the start. */
function noteSkipped(job: Job, all: Candidate[], asked: readonly Candidate[]): void {
  for (const candidate of all)
    if (!asked.includes(candidate))
      job.story.skip(candidate.channel.name, candidate.model, skipReason(candidate));
}

/** A whole response that the target's filter has cut, where the alias goes on then. */
function filtered({ shape }: Candidate, { completion }: ChatResponse): boolean {
  if (shape === undefined || !shape.fallbackOn.has("content_filter")) return false;
  return completion?.choices[0]?.finish_reason === "content_filter";
}

function providerOf(engine: Engine, channel: Channel): ChatProvider {
  const provider = engine.provider(channel.config.provider);
  if (provider !== undefined) return provider;
  throw new PorticoError(
    "service_unavailable",
    `The provider \`${channel.config.provider}\` of channel \`${channel.name}\` is not there: see \`portico plugins list\`.`,
    { type: "api_error" },
  );
}

function attemptOnce(
  engine: Engine,
  job: Job,
  channel: Channel,
  provider: ChatProvider,
  watcher: Try,
): Promise<ChatResponse> {
  const { config } = channel;
  const { target } = watcher;
  if (provider.wire === undefined) {
    if (job.translated) checkTranslated(job);
    // What asks other models waits as long as they may take.
    const patient = provider.composite === true;
    return attemptLocal({
      provider,
      target,
      job,
      timeoutMs: config.timeoutMs ?? (patient ? undefined : DEFAULT_TIMEOUT_MS),
      idleTimeoutMs: config.idleTimeoutMs ?? (patient ? undefined : DEFAULT_IDLE_TIMEOUT_MS),
      watcher,
    });
  }
  if (target.baseUrl === "") {
    throw new PorticoError(
      "service_unavailable",
      `The channel \`${channel.name}\` needs a baseUrl.`,
      {
        type: "api_error",
      },
    );
  }
  const isSigned = provider.wire.signsReasoning?.(target) === true && mayHoldCalls(job);
  const signatures = isSigned ? engine.signatures : undefined;
  // Its calls are read.
  if (isSigned) job.mayPassRaw = false;
  const response = attemptWire({
    client: engine.upstreams,
    wire: provider.wire,
    signatures,
    target,
    job,
    timeoutMs: config.timeoutMs ?? DEFAULT_TIMEOUT_MS,
    idleTimeoutMs: config.idleTimeoutMs ?? DEFAULT_IDLE_TIMEOUT_MS,
    maxEventBytes: config.maxEventBytes ?? DEFAULT_MAX_EVENT_BYTES,
    askUsage: !target.bare && asksForUsage(channel, provider, job),
    watcher,
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
