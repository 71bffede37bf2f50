/** Holds keys to their limits: before a request, and by what it used after it. */
import { type Logger, PorticoError } from "portico";
import { type ChatGate, type ChatMeter, periodOf } from "portico/chat";
import type { Store, Take } from "portico/store";
import type { UsageService } from "portico/usage";
import { type Grant, grantOf } from "./grant.ts";
import type { Holders } from "./holders.ts";
import { mayUse } from "./models.ts";

const MINUTE = 60_000;
/** Tokens are known when they are used: they count however many there are. */
const UNLIMITED = Number.MAX_SAFE_INTEGER;

export interface GateServices {
  store: () => Store;
  usage: () => UsageService | undefined;
  holders: Holders;
  log: Logger;
}

type Headers = Record<string, string>;

export function createGate({ store, usage, holders, log }: GateServices): ChatGate & ChatMeter {
  /** Tokens that are being counted, by key. */
  const charging = new Map<string, Promise<unknown>>();

  async function checkBudget({ name, budget }: Grant): Promise<void> {
    if (budget === undefined) return;
    const service = usage();
    if (service === undefined)
      throw new PorticoError(
        "service_unavailable",
        "This key has a budget, and the plugin that counts costs is off.",
      );
    const now = store().now();
    const period = periodOf(budget.per, now);
    if ((await service.spent(name, period.start)) < budget.usd) return;
    throw new PorticoError(
      "insufficient_quota",
      `This key has used up its budget of $${budget.usd} per ${budget.per}. A new ${budget.per} begins at ${new Date(period.end).toISOString()}.`,
      {
        status: 429,
        type: "rate_limit_error",
        headers: { "retry-after": seconds(period.end - now) },
      },
    );
  }

  async function checkTokens(
    { name, tokensPerMinute: max }: Grant,
    headers: Headers,
  ): Promise<void> {
    if (max === undefined) return;
    await charging.get(name);
    const take = await store().take(`key:${name}:tokens`, 0, max, MINUTE);
    describe(headers, "tokens", take);
    if (take.remaining === 0) throw tooMany(take, `its limit of ${max} tokens per minute`, headers);
  }

  async function takeRequest(
    { name, requestsPerMinute: max }: Grant,
    headers: Headers,
  ): Promise<void> {
    if (max === undefined) return;
    const take = await store().take(`key:${name}:requests`, 1, max, MINUTE);
    describe(headers, "requests", take);
    if (!take.allowed) throw tooMany(take, `its limit of ${max} requests per minute`, headers);
  }

  function charge(name: string, tokens: number): Promise<void> {
    const work: Promise<void> = store()
      .take(`key:${name}:tokens`, tokens, UNLIMITED, MINUTE)
      .then(
        () => {},
        (error: unknown) =>
          log.error({ err: error, key: name }, "the tokens of a key could not be counted"),
      )
      .finally(() => {
        if (charging.get(name) === work) charging.delete(name);
      });
    charging.set(name, work);
    return work;
  }

  return {
    name: "keys",
    allows: (client, wanted) => mayUse(grantOf(client)?.models, wanted),
    async admit(client, wanted, res) {
      const grant = grantOf(client);
      if (grant === undefined) return;
      if (!mayUse(grant.models, wanted)) throw notAllowed(wanted.model);
      // Without a list of models it never comes to the agent, nor to a session.
      if (grant.models !== undefined) await holders.settle(grant.name, client.keyId ?? "");
      await checkBudget(grant);
      const headers: Headers = {};
      await checkTokens(grant, headers);
      // Last: a request that is refused for another reason is not counted.
      await takeRequest(grant, headers);
      for (const name in headers) res.setHeader(name, headers[name]!);
    },
    finished({ client, usage: used, composite }) {
      if (used === undefined || composite) return undefined;
      const grant = grantOf(client);
      if (grant?.tokensPerMinute === undefined) return undefined;
      const tokens = (used.prompt_tokens || 0) + (used.completion_tokens || 0);
      const charged = tokens > 0 ? charge(grant.name, tokens) : undefined;
      // Here the next request waits for it; elsewhere nobody could.
      return store().sharedBy === "nobody" ? undefined : charged;
    },
  };
}

/** As OpenAI answers for a model that exists, but not for this project. */
function notAllowed(model: string): PorticoError {
  return new PorticoError(
    "model_not_found",
    `This key may not use the model \`${model}\`. GET /v1/models lists what it may.`,
    { status: 403, param: "model", type: "invalid_request_error" },
  );
}

function tooMany(take: Take, what: string, headers: Headers): PorticoError {
  const wait = seconds(take.retryAfterMs > 0 ? take.retryAfterMs : take.resetMs);
  return new PorticoError(
    "rate_limit_exceeded",
    `This key has reached ${what}. Try again in ${wait} s.`,
    {
      type: "rate_limit_error",
      headers: { ...headers, "retry-after": wait },
    },
  );
}

/** Under the names that OpenAI uses. */
function describe(headers: Headers, what: string, take: Take): void {
  headers[`x-ratelimit-limit-${what}`] = String(take.limit);
  headers[`x-ratelimit-remaining-${what}`] = String(take.remaining);
  headers[`x-ratelimit-reset-${what}`] = span(take.resetMs);
}

/** `6m0s`, `12s`, `250ms`. */
function span(ms: number): string {
  if (ms < 1000) return `${Math.ceil(ms)}ms`;
  const whole = Math.ceil(ms / 1000);
  return whole < 60 ? `${whole}s` : `${Math.floor(whole / 60)}m${whole % 60}s`;
}

function seconds(ms: number): string {
  return String(Math.max(1, Math.ceil(ms / 1000)));
}
