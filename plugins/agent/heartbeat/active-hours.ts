/** The hours in which the heartbeat beats. */
interface ActiveHours {
  start: string;
  end: string;
  tz?: string;
}

const DAY_MINUTES = 1440;
/** Where so many rounds of the clock meet no active hour, none will. */
const MOST_ROUNDS = 400;

/** True within the hours; without any, always. */
export function isActive(hours: ActiveHours | undefined, at: Date): boolean {
  if (!hours) return true;
  const now = minutesOf(timeIn(hours.tz, at));
  const start = minutesOf(hours.start);
  const end = minutesOf(hours.end);
  return start <= end ? now >= start && now < end : now >= start || now < end;
}

/** The first of the beats from `at` on, one every `everyMs`, that falls into the hours; `at` where none does. Epoch ms. */
export function firstActive(hours: ActiveHours | undefined, at: number, everyMs: number): number {
  let beat = at;
  for (let round = 0; round < MOST_ROUNDS; round++) {
    if (!hours || isActive(hours, new Date(beat))) return beat;
    const minutes = minutesOf(hours.start) - minutesOf(timeIn(hours.tz, new Date(beat)));
    const untilStart = ((minutes + DAY_MINUTES) % DAY_MINUTES) * 60_000 - (beat % 60_000);
    // half of the way at a time: a change of the zone's offset makes it shorter by an hour
    beat += Math.max(1, Math.floor(untilStart / 2 / everyMs)) * everyMs;
  }
  return at;
}

function timeIn(tz: string | undefined, at: Date): string {
  return new Intl.DateTimeFormat("en-GB", {
    hour: "2-digit",
    minute: "2-digit",
    hourCycle: "h23",
    timeZone: tz,
  }).format(at);
}

function minutesOf(text: string): number {
  const [hours, minutes] = text.split(":").map(Number);
  return (hours ?? 0) * 60 + (minutes ?? 0);
}
