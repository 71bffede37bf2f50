/** Formats jobs for the command line. */
import { describeCron, formatDuration, timeText } from "portico/schedules";

export interface JobView {
  id: string;
  name: string;
  status: string;
  source: string;
  description?: string;
  schedule: { kind: string; expr?: string; tz?: string; everyMs?: number; at?: string };
  payload: { kind: string; text?: string; message?: string; event?: string };
  missed: string;
  overlap: string;
  state: {
    nextRunAt: string | null;
    lastRunAt: string | null;
    lastStatus: string | null;
    lastError: string | null;
    consecutiveErrors: number;
    disabledReason?: string;
  };
  nextDates?: string[];
}
export interface RunView {
  id: string;
  status: string;
  trigger: string;
  timezone?: string;
  scheduledAt: string;
  startedAt: string;
  durationMs: number | null;
  error?: string;
  reason?: string;
  result?: string;
}

export function formatSchedule({ schedule }: JobView): string {
  if (schedule.kind === "cron") return `${schedule.expr} (${schedule.tz})`;
  if (schedule.kind === "every") return `every ${formatDuration(schedule.everyMs ?? 0)}`;
  return `at ${timeText(schedule.at, schedule.tz)}`;
}

/** Describes a cron expression in words, so that a mistake in it is obvious. */
function meaningOf({ schedule }: JobView): string[] {
  const text = schedule.expr === undefined ? undefined : describeCron(schedule.expr);
  return text === undefined ? [] : [text];
}

const describeAction = ({ payload }: JobView): string =>
  payload.text ?? payload.message ?? `hook ${payload.event}`;

export function describeJob(view: JobView): string[] {
  const { state } = view;
  const time = (iso: string | null): string => timeText(iso, view.schedule.tz);
  return [
    `${view.name}  (${view.id})`,
    ...(view.description ? [view.description] : []),
    `status     ${view.status}${view.source === "config" ? ", from the configuration" : ""}`,
    ...(state.disabledReason ? [`reason     ${state.disabledReason}`] : []),
    `schedule   ${formatSchedule(view)}`,
    ...meaningOf(view).map((text) => `means      ${text}`),
    `does       ${view.payload.kind}: ${describeAction(view)}`,
    `missed     ${view.missed}`,
    `overlap    ${view.overlap}`,
    `last run   ${state.lastRunAt === null ? "never" : time(state.lastRunAt)}${state.lastStatus ? `  ${state.lastStatus}` : ""}`,
    ...(state.lastError
      ? [`last error ${state.lastError} (consecutive errors: ${state.consecutiveErrors})`]
      : []),
    ...(view.nextDates ?? []).map(
      (date, i) => `${i === 0 ? "next      " : "          "} ${time(date)}`,
    ),
  ];
}
