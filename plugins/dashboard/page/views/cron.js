/** The page of cron jobs: their schedules, their tasks, and their runs. */
import { change, post } from "../api.js";
import { h, href } from "../dom.js";
import { openForm } from "../forms.js";
import {
  dateList,
  patchOf,
  payloadFields,
  payloadOf,
  schedulePage,
  taskText,
  withoutUndefined,
} from "./schedules.js";

export const cron = schedulePage({
  id: "cron",
  title: "Cron",
  noun: "job",
  root: "/cron/jobs",
  runLabel: "Run now",
  list: ({ jobs }) => jobs,
  stateOf: ({ nextRunAt, lastRunAt }) => ({ nextAt: nextRunAt, lastAt: lastRunAt }),
  summary: taskText,
  task: taskText,
  details: ({ missed, overlap, timeoutMs, deleteAfterRun, payload }) => [
    ["missed runs", missed],
    ["while a run is in progress", overlap],
    ["time limit", timeoutMs && `${timeoutMs / 1000} s`],
    ["after the run", deleteAfterRun ? "the job is deleted" : null],
    ["session", payload.session],
    ["model", payload.model],
  ],
  edit: editJob,
  empty: "There are no jobs yet. A job starts a turn or queues an event at its scheduled times.",
});

function editJob(job) {
  const { schedule = { kind: "cron", expr: "0 8 * * *" } } = job ?? {};
  openForm({
    title: job ? `Edit ${job.name}` : "Add a job",
    fields: [
      { name: "name", label: "Name", required: true, value: job?.name },
      ...scheduleFields(schedule),
      ...payloadFields(job?.payload),
      {
        name: "missed",
        label: "A missed run",
        kind: "choice",
        options: [
          { value: "skip", label: "is skipped" },
          { value: "run-once", label: "is made up once, late" },
        ],
        value: job?.missed ?? "skip",
      },
      {
        name: "timeoutMs",
        label: "Time limit in milliseconds",
        kind: "number",
        value: job?.timeoutMs,
      },
    ],
    preview: nextDates,
    previewAfter: "tz",
    async submit(values) {
      const definition = jobOf(values, job);
      if (!job) {
        const { id } = await post("/cron/jobs", withoutUndefined(definition));
        location.hash = href("cron", id);
        return;
      }
      const patch = patchOf(job, definition);
      if (Object.keys(patch).length > 0)
        await change("PATCH", `/cron/jobs/${encodeURIComponent(job.id)}`, patch);
      dispatchEvent(new Event("portico:changed"));
    },
  });
}

const scheduleFields = (schedule) => [
  {
    name: "kind",
    label: "When",
    kind: "choice",
    value: schedule.kind,
    options: [
      { value: "cron", label: "by a cron expression" },
      { value: "every", label: "at an interval" },
      { value: "at", label: "once" },
    ],
  },
  {
    name: "expr",
    label: "Cron expression",
    value: schedule.expr ?? "0 8 * * *",
    hint: "Minute, hour, day of the month, month and day of the week, or six fields with seconds first.",
    when: ({ kind }) => kind === "cron",
  },
  {
    name: "everyMs",
    label: "Interval in seconds",
    kind: "number",
    value: schedule.everyMs === undefined ? 3600 : schedule.everyMs / 1000,
    when: ({ kind }) => kind === "every",
  },
  {
    name: "at",
    label: "Date and time",
    value: schedule.at,
    placeholder: "2027-01-31T08:00 or in 20m",
    when: ({ kind }) => kind === "at",
  },
  {
    name: "tz",
    label: "Time zone",
    value: schedule.tz,
    placeholder: Intl.DateTimeFormat().resolvedOptions().timeZone,
    hint: "Leave empty for cron.timezone or, if that is not set, the gateway's time zone.",
    when: ({ kind }) => kind !== "every",
  },
];

function scheduleOf({ kind, expr, everyMs, at, tz }) {
  if (kind === "every")
    return { kind, everyMs: everyMs === undefined ? undefined : Math.round(everyMs * 1000) };
  return withoutUndefined(kind === "cron" ? { kind, expr, tz } : { kind, at, tz });
}

function jobOf(values, job) {
  const { name, missed, timeoutMs } = values;
  return {
    name,
    schedule: scheduleOf(values),
    payload: payloadOf(values, job?.payload),
    missed: missed === "skip" && job?.missed === undefined ? undefined : missed,
    timeoutMs,
  };
}

async function nextDates(values) {
  const { description, timezone, dates } = await post("/cron/preview", {
    schedule: scheduleOf(values),
  });
  return [
    description ? h("p", {}, description) : null,
    dates.length === 0
      ? h("p", {}, "The schedule has no more run times.")
      : dateList(dates, timezone),
  ].flat();
}
