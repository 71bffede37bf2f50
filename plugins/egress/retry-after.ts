/** The longest wait that a server can request: a day. */
const MAX_WAIT_MS = 86_400_000;

/**
 * Returns the wait that a `Retry-After` header requests, in ms, or `undefined` if it is neither seconds nor a future date.
 */
export function retryAfterMs(value: string | undefined): number | undefined {
  if (value === undefined || value.length > 100) return undefined;
  const ms = /^\d+$/.test(value.trim()) ? Number(value) * 1_000 : Date.parse(value) - Date.now();
  return ms > 0 ? Math.min(ms, MAX_WAIT_MS) : undefined;
}
