/** Returns the calendar day or month in UTC that contains a time; all in milliseconds since 1970. */
export function periodOf(per: "day" | "month", now: number): { start: number; end: number } {
  const date = new Date(now);
  const [year, month, day] = [date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate()];
  return per === "day"
    ? { start: Date.UTC(year, month, day), end: Date.UTC(year, month, day + 1) }
    : { start: Date.UTC(year, month, 1), end: Date.UTC(year, month + 1, 1) };
}

/**
 * Returns a wait in whole seconds, for `Retry-After`. The last request leaves a window of a minute after 60,001 ms, and
 * that must not become 61 s: SDKs ignore a wait of more than 60 s.
 */
export function retryAfterSeconds(ms: number): number {
  return Math.max(1, Math.ceil((ms - 1) / 1000));
}
