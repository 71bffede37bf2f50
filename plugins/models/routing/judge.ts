/** Decides what a failed attempt means for its channel and key, and what to do next. */
import { isPorticoError } from "portico";
import {
  CONTEXT_LENGTH,
  isUpstreamError,
  ResponseTooLarge,
  type UpstreamError,
} from "portico/provider";
import type { Channel } from "./channel.ts";
import { ProviderFailed } from "../upstream/local/provider-failed.ts";

const LONGEST_WAIT_MS = 10_000;
const FIRST_BACKOFF_MS = 250;
const LONGEST_BACKOFF_MS = 4_000;
/** How long one of several keys cools down if it is limited and the upstream names no time. */
const LIMITED_KEY_COOLDOWN_MS = 5_000;

export type NextStep = { again: number } | "another key" | "next target" | "give up";

export interface RetryState {
  /** An earlier attempt of the request has already counted as a failure of this target. */
  hasCountedFailure: boolean;
  /** The refusals, besides errors, after which the alias falls back to its next target. */
  fallbackOn: ReadonlySet<string> | undefined;
  retriesLeft: number;
  retriesMade: number;
  keysLeft: number;
  random: () => number;
}

/** Counts a failed attempt against its channel or key, and returns what to do next. */
export function judge(
  channel: Channel,
  model: string,
  key: number,
  error: unknown,
  retryState: RetryState,
): NextStep {
  if (!isUpstreamError(error)) return judgeOwn(channel, model, error);
  switch (error.kind) {
    case "request":
      channel.recordNeutral(model);
      return error.upstreamStatus === 404 || isFallbackReason(error, retryState)
        ? "next target"
        : "give up";
    case "auth":
      channel.recordNeutral(model, error.message);
      channel.recordRefusedKey(key);
      return retryState.keysLeft > 0 && channel.hasFreshKey(model) ? "another key" : "next target";
    case "rate_limit":
      return judgeLimit(channel, model, key, error, retryState);
    default:
      countFailure(channel, model, error, retryState);
      return isRetryUseless(error) ? "next target" : retry(channel, model, error, retryState);
  }
}

/** Decides on an error that the gateway itself raised, not the upstream. */
function judgeOwn(channel: Channel, model: string, error: unknown): NextStep {
  if (!isPorticoError(error)) {
    channel.recordNeutral(model);
    return "give up";
  }
  // An error that the caller caused does not count against the channel.
  channel.recordNeutral(model, error.status >= 500 ? error.message : undefined);
  // Another target may be able to express the request, but the decision of a hook is final.
  return HOOK_ERRORS.has(error.code) ? "give up" : "next target";
}

/** Whether the same target would fail in the same way again. */
function isRetryUseless(error: UpstreamError): boolean {
  return error instanceof ProviderFailed || error instanceof ResponseTooLarge;
}

const HOOK_ERRORS = new Set(["blocked_by_hook", "hook_unavailable"]);

/** How providers and servers word the refusal of a prompt that their rules forbid. */
const FORBIDDEN_CONTENT =
  /content.?(?:filter|policy|management)|content exists risk|usage (?:policy|policies|guidelines)/i;

/** Whether the alias falls back after this refusal: the request was too long, or its content forbidden. */
function isFallbackReason({ code, message }: UpstreamError, { fallbackOn }: RetryState): boolean {
  if (fallbackOn === undefined) return false;
  const text = `${code} ${message}`;
  if (fallbackOn.has("context_length") && code === CONTEXT_LENGTH) return true;
  return fallbackOn.has("content_filter") && FORBIDDEN_CONTENT.test(text);
}

/** Codes for exhausted credit, which does not come back by waiting. */
const EXHAUSTED_CREDIT = new Set([
  "insufficient_quota",
  "credit_balance_exhausted",
  "billing_hard_limit_reached",
]);

/** Counts a failure only once for all attempts of one request. */
function countFailure(
  channel: Channel,
  model: string,
  { message }: UpstreamError,
  { hasCountedFailure }: RetryState,
): void {
  if (hasCountedFailure) channel.recordNeutral(model, message);
  else channel.recordFailure(model, message);
}

function judgeLimit(
  channel: Channel,
  model: string,
  key: number,
  error: UpstreamError,
  retryState: RetryState,
): NextStep {
  const isLong = error.retryAfterMs !== undefined && error.retryAfterMs > LONGEST_WAIT_MS;
  if (channel.keyCount > 1 || isLong) {
    channel.recordLimitedKey(
      model,
      key,
      Math.min(error.retryAfterMs ?? LIMITED_KEY_COOLDOWN_MS, 300_000),
    );
    channel.recordNeutral(model, error.message);
    if (retryState.keysLeft > 0 && channel.hasFreshKey(model)) return "another key";
    if (isLong) return "next target";
  } else countFailure(channel, model, error, retryState);
  return EXHAUSTED_CREDIT.has(error.code)
    ? "next target"
    : retry(channel, model, error, retryState);
}

function retry(
  channel: Channel,
  model: string,
  error: UpstreamError,
  { retriesLeft, retriesMade, random }: RetryState,
): NextStep {
  if (retriesLeft <= 0) return "next target";
  const wait = error.retryAfterMs;
  if (wait !== undefined && wait > LONGEST_WAIT_MS) return "next target";
  if (wait === undefined && channel.cooldownUntil(model) !== 0) return "next target";
  const backoff = Math.min(LONGEST_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** retriesMade);
  // Jitter only lengthens a delay that the upstream named; it varies our own in both directions.
  return {
    again:
      wait !== undefined
        ? wait + random() * Math.min(250, wait / 10)
        : backoff * (0.5 + random() * 0.5),
  };
}
