/** The daily period in which the heartbeat runs. `start` and `end` are `HH:MM`, `tz` is an IANA name. */
interface ActiveHours {
  start: string;
  end: string;
  tz?: string;
}

const DAY_MINUTES = 1440;
/** The search for an active hour gives up after this many steps. */
const MAX_ROUNDS = 400;

/** Returns whether `at` is within the active hours; always true without active hours. */
export function isActive(hours: ActiveHours | undefined, at: Date): boolean {
  if (!hours) return true;
  const now = parseMinutes(formatTime(hours.tz, at));
  const start = parseMinutes(hours.start);
  const end = parseMinutes(hours.end);
  return start <= end ? now >= start && now < end : now >= start || now < end;
}

/**
 * Returns the first of the beats `at`, `at + everyMs`, … that is within the active hours; `at` if there is none. Epoch
 * ms.
 */
export function findFirstActive(
  hours: ActiveHours | undefined,
  at: number,
  everyMs: number,
): number {
  let beat = at;
  for (let round = 0; round < MAX_ROUNDS; round++) {
    if (!hours || isActive(hours, new Date(beat))) return beat;
    const minutes = parseMinutes(hours.start) - parseMinutes(formatTime(hours.tz, new Date(beat)));
    const untilStart = ((minutes + DAY_MINUTES) % DAY_MINUTES) * 60_000 - (beat % 60_000);
    // Advances only half of the way, because a change of the zone's offset can make the way shorter by an hour.
    beat += Math.max(1, Math.floor(untilStart / 2 / everyMs)) * everyMs;
  }
  return at;
}

function formatTime(tz: string | undefined, at: Date): string {
  return new Intl.DateTimeFormat("en-GB", {
    hour: "2-digit",
    minute: "2-digit",
    hourCycle: "h23",
    timeZone: tz,
  }).format(at);
}

function parseMinutes(text: string): number {
  const [hours, minutes] = text.split(":").map(Number);
  return (hours ?? 0) * 60 + (minutes ?? 0);
}
