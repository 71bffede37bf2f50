/** Previews a schedule that is not saved: its description and its next dates. */
import { describeCron, type GivenSchedule, parseSchedule, previewDates } from "portico/schedules";

const DATES_SHOWN = 5;

/** Throws `invalid_request_error` with `param`. */
export function previewSchedule(definition: GivenSchedule, now: number, zone: string) {
  const schedule = parseSchedule(definition, now, zone);
  const dates = previewDates(schedule, now, DATES_SHOWN, now);
  return {
    schedule,
    description: schedule.kind === "cron" ? describeCron(schedule.expr) : undefined,
    timezone: schedule.kind === "every" ? undefined : (schedule.tz ?? zone),
    dates: dates.map((date) => new Date(date).toISOString()),
  };
}
