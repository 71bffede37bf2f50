const UNITS = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["min", 60_000],
  ["s", 1_000],
] as const;

/** Beyond this distance, a weekday would be ambiguous. */
const NEAR_MS = 6 * 86_400_000;

/** Returns `in 1 d`, `3 h ago` or `now`, in the largest unit that fits, rounded down. */
function formatRelativeTime(at: number, now: number): string {
  const distance = Math.abs(at - now);
  const [unit, ms] = UNITS.find(([, ms]) => distance >= ms) ?? ["", 1];
  if (unit === "") return "now";
  const amount = `${Math.floor(distance / ms)} ${unit}`;
  return at > now ? `in ${amount}` : `${amount} ago`;
}

/**
 * Formats a time for people: `Mon 08:00 Europe/Berlin, in 1 d`, with the date in place of the weekday if the time is far
 * away. `iso` is as routes send it; the result for a missing one is `-`. `zone` is an IANA name. Default: this machine's.
 */
export function timeText(
  iso: string | null | undefined,
  zone: string | undefined,
  now = Date.now(),
): string {
  const at = Date.parse(iso ?? "");
  if (Number.isNaN(at)) return "-";
  const timeZone = zone ?? Intl.DateTimeFormat().resolvedOptions().timeZone;
  const time = { timeZone, hour: "2-digit", minute: "2-digit", hourCycle: "h23" } as const;
  const clock = new Intl.DateTimeFormat("en-GB", time).format(at);
  const isNear = Math.abs(at - now) < NEAR_MS;
  const day = isNear
    ? new Intl.DateTimeFormat("en-GB", { timeZone, weekday: "short" }).format(at)
    : new Intl.DateTimeFormat("sv-SE", { timeZone, dateStyle: "short" }).format(at);
  return `${day} ${clock} ${timeZone}, ${formatRelativeTime(at, now)}`;
}
