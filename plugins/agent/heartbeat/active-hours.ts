/** The hours in which the heartbeat beats. */
export function isActive(hours: { start: string; end: string; tz?: string } | undefined, at: Date): boolean {
  if (!hours) return true;
  const now = minutesOf(timeIn(hours.tz, at));
  const start = minutesOf(hours.start);
  const end = minutesOf(hours.end);
  return start <= end ? now >= start && now < end : now >= start || now < end;
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
