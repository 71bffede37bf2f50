/** How limits are said to callers. */
import { PorticoError } from "portico";
import type { Take } from "portico/store";

/** What an answer says about a limit. */
export type LimitState = Pick<Take, "limit" | "remaining" | "resetMs">;

export function limited(limit: Take): PorticoError {
  const seconds = Math.max(1, Math.ceil(limit.retryAfterMs / 1000));
  return new PorticoError(
    "rate_limit_exceeded",
    `The limit of ${limit.limit} requests is used up. Try again in ${seconds} s.`,
    { headers: { "retry-after": String(seconds) } },
  );
}

export function limitHeaders({ limit, remaining, resetMs }: LimitState): Record<string, string> {
  return {
    "ratelimit-limit": String(limit),
    "ratelimit-remaining": String(remaining),
    "ratelimit-reset": String(Math.ceil(resetMs / 1000)),
  };
}
