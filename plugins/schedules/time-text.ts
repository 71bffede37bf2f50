const UNITS = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["min", 60_000],
  ["s", 1_000],
] as const;

/** Beyond these days a weekday says no longer which one is meant. */
const NEAR_MS = 6 * 86_400_000;

/** `in 1 d`, `3 h ago`, `now`: in the largest unit that fits, rounded down. */
function relativeTime(at: number, now: number): string {
  const away = Math.abs(at - now);
  const [unit, ms] = UNITS.find(([, ms]) => away >= ms) ?? ["", 1];
  if (unit === "") return "now";
  const amount = `${Math.floor(away / ms)} ${unit}`;
  return at > now ? `in ${amount}` : `${amount} ago`;
}

/**
 * A time for people: `Mon 08:00 Europe/Berlin, in 1 d`; with the date in the place of the weekday where it is far away.
 * `iso` as routes send it, `-` for none; `zone` an IANA name, default this machine's.
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
  return `${day} ${clock} ${timeZone}, ${relativeTime(at, now)}`;
}
