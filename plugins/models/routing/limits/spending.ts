/**
 * Applies the limits on usage: budgets and tokens per minute of client keys and channels. Before a target is tried, the
 * estimated usage of the request is reserved from all of them in the store. When the request has ended, its actual
 * usage replaces the reservation. So the estimates of all running requests fit the limits, in one process and over all
 * that share the store.
 */
import { randomUUID } from "node:crypto";
import type { Client, Logger } from "portico";
import {
  type ChatGate,
  type ChatPricing,
  periodOf,
  type RefusedSpending,
  type SpendingLimit,
} from "portico/models";
import { type ChatProvider, type UpstreamError, upstreamError, type Usage } from "portico/provider";
import type { Charge, Count, Reserved, ReservationRequest, Store } from "portico/store";
import type { Account, Job } from "../../job.ts";
import { retryAfterSeconds } from "../../kit/period.ts";
import type { Channel } from "../channel.ts";
import type { Candidate } from "../router.ts";
import { FinalError } from "../tries.ts";
import { limitError } from "../select-targets.ts";
import { estimateTokens, type TokenEstimate } from "./estimate.ts";
import { errors } from "../../errors.ts";

const MINUTE_MS = 60_000;
/** Reservations of a process that died expire after this time. */
const RESERVED_MS = 30_000;
export const RENEW_MS = 10_000;
/** The period of a budget ends by a clock that may be ahead of ours. */
const AHEAD_MS = 1000;

export interface SpendingServices {
  store: () => Store | undefined;
  pricing: () => ChatPricing | undefined;
  gates: () => readonly ChatGate[];
  channels: () => Iterable<Channel>;
  log: Logger;
}

/** Plain data that survives a reload of the plugin, so that running requests keep their reservations. */
export interface OpenReservations {
  holder: string;
  /** Ids of the reservations of running requests, and of those whose settlement is not written yet. */
  ids: Set<string>;
  /**
   * Settlements that could not be written, by reservation. One that is being written is not in the map: otherwise
   * `renew` would write it a second time, and the request would count twice.
   */
  unwritten: Map<string, readonly Charge[]>;
}

export function noReservations(): OpenReservations {
  return { holder: randomUUID(), ids: new Set(), unwritten: new Map() };
}

export class Spending {
  readonly services: SpendingServices;
  readonly #open: OpenReservations;
  #isFailing = false;

  constructor(services: SpendingServices, open = noReservations()) {
    this.services = services;
    this.#open = open;
  }

  /** Returns undefined if no limit on usage can concern the request. `operation` is the route; undefined for chat. */
  open(job: Job, operation: string | undefined): Account | undefined {
    const clientLimits = this.limitsOf(job.client);
    return clientLimits.length > 0 || this.#isAnyChannelLimited()
      ? new RequestAccount(this, job, { clientLimits, operation })
      : undefined;
  }

  #isAnyChannelLimited(): boolean {
    for (const channel of this.services.channels()) if (hasLimits(channel)) return true;
    return false;
  }

  limitsOf(client: Client): SpendingLimit[] {
    if (client.kind !== "key") return [];
    return this.services.gates().flatMap((gate) => gate.limits?.(client) ?? []);
  }

  /** Rejects if the store fails. */
  async reserve(id: string, requests: readonly ReservationRequest[]): Promise<Reserved> {
    const store = this.services.store();
    if (store === undefined) throw errors.limitsUnavailable();
    const reservation = { id, holder: this.#open.holder, ttlMs: RESERVED_MS };
    const reserved = await store.reservations.reserve(reservation, requests);
    if (reserved.allowed) this.#open.ids.add(id);
    return reserved;
  }

  /**
   * Replaces a reservation with the actual usage of the request. If other processes share the store, returns a promise
   * that resolves when they see the change. `renew` tries again to write what could not be written.
   */
  settle(id: string, charges: readonly Charge[]): Promise<void> | undefined {
    const store = this.services.store();
    if (store === undefined || (charges.length === 0 && !this.#open.ids.has(id))) return undefined;
    const settling = this.#settle(store, id, charges);
    return store.sharedBy === "nobody" ? undefined : settling;
  }

  /** Extends the reservations of running requests, and tries again to write failed settlements. */
  async renew(): Promise<void> {
    const store = this.services.store();
    if (store === undefined) return;
    const unwritten = [...this.#open.unwritten];
    this.#open.unwritten.clear();
    for (const [id, charges] of unwritten) await this.#settle(store, id, charges);
    if (this.#open.ids.size > 0) await store.reservations.extend(this.#open.holder, RESERVED_MS);
  }

  async #settle(store: Store, id: string, charges: readonly Charge[]): Promise<void> {
    try {
      await store.reservations.settle(id, charges);
      this.#open.ids.delete(id);
      this.#isFailing = false;
    } catch (error) {
      this.#open.unwritten.set(id, charges);
      if (!this.#isFailing)
        this.services.log.error(
          { err: error },
          "The usage of some requests could not be counted against their limits. The gateway will try again.",
        );
      this.#isFailing = true;
    }
  }
}

/** The reservations and charges of one request. */
class RequestAccount implements Account {
  readonly #spending: Spending;
  readonly #job: Job;
  readonly #clientLimits: readonly SpendingLimit[];
  readonly #operation: string | undefined;
  readonly #id = randomUUID();
  /** The channel of the last reservation. */
  #channel: Channel | undefined;

  constructor(
    spending: Spending,
    job: Job,
    {
      clientLimits,
      operation,
    }: { clientLimits: readonly SpendingLimit[]; operation: string | undefined },
  ) {
    this.#spending = spending;
    this.#job = job;
    this.#clientLimits = clientLimits;
    this.#operation = operation;
  }

  /**
   * Reserves the estimated usage before a target is tried, and releases the reservation for the previous target. Throws
   * if the request does not fit, a `FinalError` if it would fit at no target.
   */
  reserve({ channel, model }: Candidate, provider: ChatProvider): Promise<void> | undefined {
    // The requests that a composite provider makes reserve for themselves.
    if (provider.composite === true) return undefined;
    this.#channel = channel;
    const limits = [...this.#clientLimits, ...channelLimits(channel)];
    const target = { channel: channel.name, provider: provider.name, model };
    return limits.length === 0 ? undefined : this.#reserve(limits, channel, target);
  }

  async #reserve(
    limits: readonly SpendingLimit[],
    channel: Channel,
    target: { channel: string; provider: string; model: string },
  ): Promise<void> {
    const estimate = estimateTokens(this.#job.members ?? this.#job.request, this.#operation);
    const amounts = await this.#amountsOf(estimate, limits, target);
    const requests = limits.map((limit) => ({
      ...this.#counterOf(limit),
      max: limit.max,
      amount: amounts[limit.unit],
      isGuess: estimate.isGuess,
    }));
    const reserved = await this.#tryReserve(channel, requests);
    if (reserved === undefined) return;
    recordSpending(channel, requests, reserved);
    const { refused } = reserved;
    if (refused === undefined) return;
    const limit = limits.find(({ key }) => key === refused.key)!;
    const error = limit.refuse({ ...refused, estimate: amounts[limit.unit] });
    throw this.#clientLimits.includes(limit) ? new FinalError(error) : error;
  }

  async #amountsOf(
    { prompt, completion }: TokenEstimate,
    limits: readonly SpendingLimit[],
    target: { channel: string; provider: string; model: string },
  ): Promise<Record<SpendingLimit["unit"], number>> {
    const tokens = prompt + completion;
    if (limits.every(({ unit }) => unit === "tokens")) return { tokens, usd: 0 };
    const pricing = this.#spending.services.pricing();
    if (pricing === undefined) throw errors.costsUnavailable();
    const usage = { prompt_tokens: prompt, completion_tokens: completion, total_tokens: tokens };
    return { tokens, usd: (await pricing.costOf(target, usage)) ?? 0 };
  }

  /**
   * Returns undefined if the store fails and only a channel's tokens are limited: the channel stays usable without the
   * store.
   */
  async #tryReserve(
    channel: Channel,
    requests: readonly ReservationRequest[],
  ): Promise<Reserved | undefined> {
    try {
      return await this.#spending.reserve(this.#id, requests);
    } catch (error) {
      if (this.#clientLimits.length > 0) throw new FinalError(error);
      if (channel.config.budget !== undefined) throw error;
      this.#spending.services.log.warn(
        { err: error, channel: channel.name },
        "the tokens of a channel are limited in this process only, because the store is not available",
      );
      return undefined;
    }
  }

  /**
   * Charges the actual usage at the end of the request. `usage` is undefined if it used nothing, `cost` if its price is
   * not known. If other processes share the store, returns a promise that resolves when they see the change.
   */
  settle(usage: Usage | undefined, cost: number | undefined): Promise<void> | undefined {
    const channel = this.#channel;
    const tokens = usage === undefined ? 0 : usage.prompt_tokens + usage.completion_tokens;
    channel?.countTokens(tokens);
    const amounts = { tokens, usd: cost ?? 0 };
    const limits = [
      ...this.#clientLimits,
      ...(channel === undefined ? [] : channelLimits(channel)),
    ];
    const charges = limits
      .map((limit) => ({ ...this.#counterOf(limit), amount: amounts[limit.unit] }))
      .filter(({ amount }) => amount > 0);
    return this.#spending.settle(this.#id, charges);
  }

  #counterOf({ key, per, usageOf }: SpendingLimit): Count {
    if (per === "minute") return { key, window: { ms: MINUTE_MS } };
    const { pricing, store } = this.#spending.services;
    const now = pricing()?.now() ?? store()?.now() ?? Date.now();
    return { key, window: { ...periodOf(per, now), usageOf } };
  }
}

function hasLimits({ config }: Channel): boolean {
  return config.tokensPerMinute !== undefined || config.budget !== undefined;
}

function channelLimits(channel: Channel): SpendingLimit[] {
  const { name } = channel;
  const { tokensPerMinute, budget } = channel.config;
  const usageOf = { channel: name };
  const limits: SpendingLimit[] = [];
  if (tokensPerMinute !== undefined)
    limits.push({
      key: `channel:${name}:tokens`,
      unit: "tokens",
      max: tokensPerMinute,
      per: "minute",
      usageOf,
      refuse: (refused) => refusalError(channel, "tokensPerMinute", refused),
    });
  if (budget !== undefined)
    limits.push({
      key: `channel:${name}:usd`,
      unit: "usd",
      max: budget.usd,
      per: budget.per,
      usageOf,
      refuse: (refused) => refusalError(channel, "budget", refused),
    });
  return limits;
}

/** Creates the error for a limit that is reached, or whose rest does not cover the request. */
function refusalError(
  channel: Channel,
  name: "tokensPerMinute" | "budget",
  { used, reserved, max, estimate, retryAfterMs }: RefusedSpending,
): UpstreamError {
  if (used >= max) return limitError(channel, { name, until: Date.now() + retryAfterMs });
  const unit = name === "budget" ? "US dollars" : "tokens";
  const remaining = Number(Math.max(0, max - used - reserved).toFixed(6));
  const needed = Number(estimate.toFixed(6));
  const retryAfter = retryAfterSeconds(retryAfterMs);
  const message =
    estimate > max
      ? `This request may use ${needed} ${unit}, which is more than the ${name} of the channel \`${channel.name}\` (${max}). To reduce the estimate, set a lower \`max_tokens\` (or \`max_completion_tokens\`, \`max_output_tokens\`).`
      : `This request may use ${needed} ${unit}, but only ${remaining} of the ${name} (${max}) of the channel \`${channel.name}\` is left. The rest is used, or reserved for requests in progress. Try again in ${retryAfter} s.`;
  return upstreamError({ kind: "rate_limit", message, retryAfter, limit: name }, 0);
}

/**
 * Records the cost of a channel for listings, and so that a channel whose budget is used up is skipped without a
 * request to the store.
 */
function recordSpending(
  channel: Channel,
  requests: readonly ReservationRequest[],
  { states }: Reserved,
): void {
  for (const { key, used } of states) {
    if (key !== `channel:${channel.name}:usd`) continue;
    const window = requests.find((request) => request.key === key)!.window;
    if ("end" in window) channel.setSpending(used, Math.max(window.end, Date.now() + AHEAD_MS));
  }
}
