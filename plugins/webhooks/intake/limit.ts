/** The limits in responses to callers. */
import type { PorticoError } from "portico";
import type { Take } from "portico/store";
import { errors } from "../errors.ts";

/** The state of a limit that a response shows. */
export type LimitState = Pick<Take, "limit" | "remaining" | "resetMs">;

export function rateLimitError(limit: Take): PorticoError {
  const seconds = Math.max(1, Math.ceil(limit.retryAfterMs / 1000));
  const headers = { "retry-after": String(seconds) };
  return errors.limited({ limit: limit.limit, seconds }, { headers });
}

export function createLimitHeaders({
  limit,
  remaining,
  resetMs,
}: LimitState): Record<string, string> {
  return {
    "ratelimit-limit": String(limit),
    "ratelimit-remaining": String(remaining),
    "ratelimit-reset": String(Math.ceil(resetMs / 1000)),
  };
}
