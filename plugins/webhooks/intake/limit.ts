/** How limits are said to callers. */
import { PorticoError } from "portico";
import type { Take } from "portico/store";

export function limited(limit: Take): PorticoError {
  const seconds = retrySeconds(limit);
  return new PorticoError(
    "rate_limit_exceeded",
    `The limit of ${limit.limit} requests is used up. Try again in ${seconds} s.`,
    { headers: { "retry-after": String(seconds) } },
  );
}

/** Whole seconds after which another one passes; at least one. */
export function retrySeconds({ retryAfterMs }: Take): number {
  return Math.max(1, Math.ceil(retryAfterMs / 1000));
}

export function limitHeaders({ limit, remaining, resetMs }: Take): Record<string, string> {
  return {
    "ratelimit-limit": String(limit),
    "ratelimit-remaining": String(remaining),
    "ratelimit-reset": String(Math.ceil(resetMs / 1000)),
  };
}
