/** Formats polls for the command line. */
import { shorten } from "portico/strings";
import { describeCron, timeText } from "portico/schedules";

export interface PollView {
  id: string;
  name: string;
  status: string;
  origin: string;
  every?: string;
  schedule?: { kind: string; expr?: string; tz?: string; at?: string };
  source: {
    kind: string;
    url?: string;
    path?: string;
    items?: string;
    key?: string;
    selector?: string;
  };
  payload: { kind: string; text?: string; message?: string; event?: string };
  state: {
    lastCheckAt: string | null;
    lastStatus: string | null;
    lastChangeAt: string | null;
    lastError: string | null;
    consecutiveErrors: number;
    nextCheckAt: string | null;
    checks: number;
    changes: number;
  };
  note?: string;
}
export interface CheckView {
  status: string;
  trigger: string;
  timezone?: string;
  startedAt: string;
  durationMs: number;
  httpStatus?: number;
  items?: number;
  count?: number;
  error?: string;
}
export interface DryRun {
  status: string;
  listed?: number;
  count: number;
  sample: unknown[];
  text?: string;
  diff?: string;
  wouldSend: string | null;
}

export const formatTiming = ({ every, schedule }: PollView): string =>
  every === undefined ? (schedule?.expr ?? schedule?.at ?? "") : `every ${every}`;
export const addressOf = ({ source }: PollView): string => source.url ?? source.path ?? "";

/** Describes a cron expression in words, so that a mistake in it is obvious. */
function meaningOf({ schedule }: PollView): string[] {
  const text = schedule?.expr === undefined ? undefined : describeCron(schedule.expr);
  return text === undefined ? [] : [text];
}

export function describePoll(view: PollView): string[] {
  const { state, source, payload } = view;
  const time = (iso: string | null): string =>
    iso === null ? "none yet" : timeText(iso, view.schedule?.tz);
  return [
    `${view.name}  (${view.id})`,
    `status      ${view.status}${view.origin === "config" ? ", from the configuration" : ""}`,
    `source      ${source.kind} ${addressOf(view)}`,
    `checks      ${formatTiming(view)}, ${state.checks} so far`,
    ...meaningOf(view).map((text) => `means       ${text}`),
    `does        ${payload.kind}: ${payload.text ?? payload.message ?? payload.event}`,
    `last check  ${time(state.lastCheckAt)}${state.lastStatus ? `  ${state.lastStatus}` : ""}`,
    `last change ${time(state.lastChangeAt)}`,
    ...(state.lastError
      ? [`last error  ${state.lastError} (consecutive errors: ${state.consecutiveErrors})`]
      : []),
    ...(state.nextCheckAt ? [`next check  ${time(state.nextCheckAt)}`] : []),
    ...(view.note ? [view.note] : []),
  ];
}

export function describeDryRun(dry: DryRun): string[] {
  const excerpt =
    dry.text !== undefined
      ? dry.text.split("\n").slice(0, 20)
      : dry.sample.map((item) => shorten(JSON.stringify(item), 200));
  return [
    dry.listed === undefined ? "Current items:" : `${dry.listed} items; the last items are:`,
    ...excerpt.map((line) => `  ${line}`),
    ...(dry.count > 0 ? [`${dry.count} of the items would be reported now.`] : []),
    ...(dry.wouldSend === null
      ? []
      : [
          "Example of a message that would be sent:",
          ...dry.wouldSend.split("\n").map((line) => `  ${line}`),
        ]),
  ];
}
