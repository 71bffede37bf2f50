/** A server can make the gateway wait for at most a day at a time. */
const LONGEST_MS = 86_400_000;

/** How long a response's `Retry-After` asks to wait, in ms; `undefined` for what is neither seconds nor a date to come. */
export function retryAfterMs(value: string | undefined): number | undefined {
  if (value === undefined || value.length > 100) return undefined;
  const ms = /^\d+$/.test(value.trim()) ? Number(value) * 1_000 : Date.parse(value) - Date.now();
  return ms > 0 ? Math.min(ms, LONGEST_MS) : undefined;
}
