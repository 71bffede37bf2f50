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
/** How long a limited key of several cools down where the upstream names no time. */
const LIMITED_KEY_COOLDOWN_MS = 5_000;

/** What to do after a failed attempt. */
export type Next = { again: number } | "another key" | "next target" | "give up";

export interface Chances {
  /** The request has counted as a failure of this target already. */
  counted: boolean;
  /** What an alias goes on for, beside errors. */
  fallbackOn: ReadonlySet<string> | undefined;
  retriesLeft: number;
  tried: number;
  keysLeft: number;
  random: () => number;
}

/** Counts a failed attempt against its channel or key, and returns what to do next. */
export function judge(
  channel: Channel,
  model: string,
  key: number,
  error: unknown,
  chances: Chances,
): Next {
  if (!isUpstreamError(error)) return judgeOwn(channel, model, error);
  switch (error.kind) {
    case "request":
      channel.noted(model);
      return error.upstreamStatus === 404 || goesOn(error, chances) ? "next target" : "give up";
    case "auth":
      channel.noted(model, error.message);
      channel.keyRefused(key);
      return chances.keysLeft > 0 && channel.hasFreshKey(model) ? "another key" : "next target";
    case "rate_limit":
      return judgeLimit(channel, model, key, error, chances);
    default:
      fail(channel, model, error, chances);
      return isInVain(error) ? "next target" : retry(channel, model, error, chances);
  }
}

/** An error of the gateway's own, before or beside the upstream. */
function judgeOwn(channel: Channel, model: string, error: unknown): Next {
  if (!isPorticoError(error)) {
    channel.noted(model);
    return "give up";
  }
  // A fault of the caller's does not count against the channel.
  channel.noted(model, error.status >= 500 ? error.message : undefined);
  // What one target cannot express another may; a hook's word is final.
  return HOOKS.has(error.code) ? "give up" : "next target";
}

/** The same target would only fail in the same way once more. */
function isInVain(error: UpstreamError): boolean {
  return error instanceof ProviderFailed || error instanceof ResponseTooLarge;
}

const HOOKS = new Set(["blocked_by_hook", "hook_unavailable"]);

/** What providers and servers say of a prompt that their rules forbid. */
const FORBIDDEN =
  /content.?(?:filter|policy|management)|content exists risk|usage (?:policy|policies|guidelines)/i;

/** An alias may want another target's word where this one finds the request too long, or its content wrong. */
function goesOn({ code, message }: UpstreamError, { fallbackOn }: Chances): boolean {
  if (fallbackOn === undefined) return false;
  const text = `${code} ${message}`;
  if (fallbackOn.has("context_length") && code === CONTEXT_LENGTH) return true;
  return fallbackOn.has("content_filter") && FORBIDDEN.test(text);
}

/** Spent credit does not come back by waiting. */
const SPENT = new Set([
  "insufficient_quota",
  "credit_balance_exhausted",
  "billing_hard_limit_reached",
]);

/** Attempts of one request are one failure. */
function fail(
  channel: Channel,
  model: string,
  { message }: UpstreamError,
  { counted }: Chances,
): void {
  if (counted) channel.noted(model, message);
  else channel.failed(model, message);
}

function judgeLimit(
  channel: Channel,
  model: string,
  key: number,
  error: UpstreamError,
  chances: Chances,
): Next {
  const long = error.retryAfterMs !== undefined && error.retryAfterMs > LONGEST_WAIT_MS;
  if (channel.keyCount > 1 || long) {
    channel.keyLimited(
      model,
      key,
      Math.min(error.retryAfterMs ?? LIMITED_KEY_COOLDOWN_MS, 300_000),
    );
    channel.noted(model, error.message);
    if (chances.keysLeft > 0 && channel.hasFreshKey(model)) return "another key";
    if (long) return "next target";
  } else fail(channel, model, error, chances);
  return SPENT.has(error.code) ? "next target" : retry(channel, model, error, chances);
}

function retry(
  channel: Channel,
  model: string,
  error: UpstreamError,
  { retriesLeft, tried, random }: Chances,
): Next {
  if (retriesLeft <= 0) return "next target";
  const wait = error.retryAfterMs;
  if (wait !== undefined && wait > LONGEST_WAIT_MS) return "next target";
  if (wait === undefined && channel.cooldownUntil(model) !== 0) return "next target";
  const backoff = Math.min(LONGEST_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** tried);
  // Jitter goes upwards from a time that was named, and both ways from ours.
  return {
    again:
      wait !== undefined
        ? wait + random() * Math.min(250, wait / 10)
        : backoff * (0.5 + random() * 0.5),
  };
}
