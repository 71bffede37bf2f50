import { commandFor, type CommandIO, defineCommand } from "portico/command-line";
import {
  describeScheduleRoutes,
  formatDuration,
  scheduleCommands,
  timeText,
} from "portico/schedules";
import { shorten } from "portico/strings";
import { bodyOf, hasKind, options } from "./cli/options.ts";
import { describeJob, type JobView, type RunView, formatSchedule } from "./cli/views.ts";
import { JOBS } from "./schema.ts";

interface RunResult {
  runId: string;
  turnId?: string;
  eventId?: string;
}

const routes = describeScheduleRoutes(JOBS);

const { show, edit, enable, disable, run, runs, rm } = scheduleCommands<
  JobView,
  RunView,
  RunResult
>({
  noun: "job",
  root: "/cron/jobs",
  summaries: {
    show: "Show a job with its next five run times",
    enable: "Enable a job",
    disable: "Disable a job without deleting its history",
    run: "Run a job now without changing when it runs next",
    runs: "Show the history of a job",
  },
  options,
  changeOf: (io) => bodyOf(io, undefined),
  details: describeJob,
  columns: ["SCHEDULED", "STARTED", "STATUS", "BY", "TOOK", ""],
  row: (run) => [
    timeText(run.scheduledAt, run.timezone),
    timeText(run.startedAt, run.timezone),
    run.status,
    run.trigger,
    run.durationMs === null ? "-" : formatDuration(run.durationMs),
    shorten(run.error ?? run.reason ?? run.result ?? "", 60),
  ],
  started: ({ turnId, eventId, runId }) => `started ${turnId ?? eventId ?? runId}`,
});

const list = commandFor<{ jobs: JobView[] }>("GET /cron/jobs", routes.list, {
  name: "list",
  summary: "List all jobs",
  view: ({ jobs }, io) =>
    io.table(
      ["ID", "NAME", "STATUS", "SCHEDULE", "NEXT", "LAST"],
      jobs.map((job) => [
        job.id,
        job.name,
        job.status,
        formatSchedule(job),
        timeText(job.state.nextRunAt, job.schedule.tz),
        job.state.lastStatus ?? "-",
      ]),
    ),
});

const add = commandFor<JobView>("POST /cron/jobs", routes.add, {
  name: "add",
  summary: "Add a job",
  args: [{ name: "name", description: "The name of the job", optional: true }],
  options,
  members: buildNewJob,
  view: describeJob,
});

export default defineCommand({
  name: "cron",
  summary: "Manage jobs that run on a cron schedule, at an interval, or once",
  examples: [
    'portico cron add "morning report" --cron "0 8 * * 1-5" --tz Europe/Berlin --message "Summarise the night"',
    'portico cron add tea --at 20m --text "The tea is ready" --now --delete-after-run',
    "portico cron runs tea",
  ],
  commands: [list, add, show, edit, enable, disable, run, runs, rm],
});

function buildNewJob(io: CommandIO): Record<string, unknown> {
  const body = bodyOf(io, io.args["name"]);
  if (!hasKind(body["schedule"]))
    throw new Error("The schedule is missing. Pass --cron EXPR, --every TIME or --at DATE.");
  if (!hasKind(body["payload"]))
    throw new Error("The job has nothing to do. Pass --message TEXT, --text TEXT or --hook EVENT.");
  return body;
}
