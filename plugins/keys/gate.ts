/** Enforces the limits of keys: allowed models, rate limits, and budgets. */
import type { PorticoError } from "portico";
import {
  type ChatGate,
  periodOf,
  type RefusedSpending,
  retryAfterSeconds,
  type SpendingLimit,
} from "portico/models";
import type { Store, Take } from "portico/store";
import type { UsageService } from "portico/usage";
import { errors } from "./errors.ts";
import { type Grant, grantOf } from "./grant.ts";
import type { Holders } from "./holders.ts";
import { mayUse } from "./models.ts";

const MINUTE = 60_000;

export interface GateServices {
  store: () => Store;
  usage: () => UsageService | undefined;
  holders: Holders;
}

type Headers = Record<string, string>;

export function createGate({ store, usage, holders }: GateServices): ChatGate {
  async function checkBudget({ name, budget }: Grant): Promise<void> {
    if (budget === undefined) return;
    const service = usage();
    if (service === undefined) throw errors.costsNotCounted();
    const now = store().now();
    const period = periodOf(budget.per, now);
    if ((await service.spent(name, period.start)) < budget.usd) return;
    throw budgetUsedUpError(budget, period.end - now);
  }

  async function checkTokens(
    { name, tokensPerMinute: max }: Grant,
    headers: Headers,
  ): Promise<void> {
    if (max === undefined) return;
    const take = await store().take(tokensCounter(name), 0, max, MINUTE);
    setLimitHeaders(headers, "tokens", take);
    if (take.remaining === 0) throw rateLimitError(take, "tokensPerMinute", headers);
  }

  async function takeRequest(
    { name, requestsPerMinute: max }: Grant,
    headers: Headers,
  ): Promise<void> {
    if (max === undefined) return;
    const take = await store().take(`key:${name}:requests`, 1, max, MINUTE);
    setLimitHeaders(headers, "requests", take);
    if (!take.allowed) throw rateLimitError(take, "requestsPerMinute", headers);
  }

  return {
    name: "keys",
    allows: (client, requested) => mayUse(grantOf(client)?.models, requested),
    async admit(client, requested, res) {
      const grant = grantOf(client);
      if (grant === undefined) return;
      if (!mayUse(grant.models, requested)) throw modelNotAllowedError(requested.model);
      // A key without a list of models cannot use the agent, so it has no sessions to protect.
      if (grant.models !== undefined) await holders.settle(grant.name, client.keyId ?? "");
      await checkBudget(grant);
      const headers: Headers = {};
      await checkTokens(grant, headers);
      // This check comes last, so that a request that another limit refuses is not counted.
      await takeRequest(grant, headers);
      for (const name in headers) res.setHeader(name, headers[name]!);
    },
    limits(client) {
      const grant = grantOf(client);
      return grant === undefined ? [] : spendingLimits(grant);
    },
  };
}

/** Returns the limits of which each request reserves a part, which is charged after it. */
function spendingLimits({ name, tokensPerMinute, budget }: Grant): SpendingLimit[] {
  const usageOf = { key: name };
  const limits: SpendingLimit[] = [];
  if (tokensPerMinute !== undefined)
    limits.push({
      key: tokensCounter(name),
      unit: "tokens",
      max: tokensPerMinute,
      per: "minute",
      usageOf,
      refuse: (refused) => tokenLimitError(tokensPerMinute, refused),
    });
  if (budget !== undefined)
    limits.push({
      key: `key:${name}:usd`,
      unit: "usd",
      max: budget.usd,
      per: budget.per,
      usageOf,
      refuse: (refused) => budgetError(budget, refused),
    });
  return limits;
}

function tokensCounter(name: string): string {
  return `key:${name}:tokens`;
}

function tokenLimitError(max: number, { estimate, retryAfterMs }: RefusedSpending): PorticoError {
  const wait = seconds(retryAfterMs);
  const options = { headers: { "retry-after": wait }, limit: "tokensPerMinute" };
  return estimate > max
    ? errors.tokensExceedLimit({ estimate, max }, options)
    : errors.tokensUsedUp({ estimate, max, seconds: wait }, options);
}

function budgetError(
  { usd, per: period }: NonNullable<Grant["budget"]>,
  { estimate, used, reserved, max, retryAfterMs, isUsedUp }: RefusedSpending,
): PorticoError {
  if (used >= max) return budgetUsedUpError({ usd, per: period }, retryAfterMs);
  const options = { headers: { "retry-after": seconds(retryAfterMs) }, limit: "budget" };
  const amounts = { estimate: dollars(estimate), left: dollars(max - used), usd, period };
  return isUsedUp
    ? errors.budgetTooSmall(amounts, options)
    : errors.budgetReserved({ ...amounts, reserved: dollars(reserved) }, options);
}

function budgetUsedUpError(
  { usd, per: period }: NonNullable<Grant["budget"]>,
  waitMs: number,
): PorticoError {
  const next = new Date(Date.now() + waitMs).toISOString();
  const headers = { "retry-after": seconds(waitMs) };
  return errors.budgetUsedUp({ usd, period, next }, { headers });
}

function dollars(usd: number): string {
  return String(Number(usd.toFixed(6)));
}

function modelNotAllowedError(model: string): PorticoError {
  return errors.modelNotAllowed({ model }, { param: "model" });
}

function rateLimitError(
  take: Take,
  limit: "tokensPerMinute" | "requestsPerMinute",
  headers: Headers,
): PorticoError {
  const wait = seconds(take.retryAfterMs > 0 ? take.retryAfterMs : take.resetMs);
  const unit = limit === "tokensPerMinute" ? "tokens" : "requests";
  return errors.tooManyRequests(
    { limit: take.limit, unit, seconds: wait },
    { headers: { ...headers, "retry-after": wait }, limit },
  );
}

/** Sets the rate limit headers, with OpenAI's names. */
function setLimitHeaders(headers: Headers, unit: string, take: Take): void {
  headers[`x-ratelimit-limit-${unit}`] = String(take.limit);
  headers[`x-ratelimit-remaining-${unit}`] = String(take.remaining);
  headers[`x-ratelimit-reset-${unit}`] = formatDuration(take.resetMs);
}

/** Formats a duration as `6m0s`, `12s` or `250ms`. */
function formatDuration(ms: number): string {
  if (ms < 1000) return `${Math.ceil(ms)}ms`;
  const whole = Math.ceil(ms / 1000);
  return whole < 60 ? `${whole}s` : `${Math.floor(whole / 60)}m${whole % 60}s`;
}

function seconds(ms: number): string {
  return String(retryAfterSeconds(ms));
}
