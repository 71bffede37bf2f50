import { defineCommand } from "portico/command-line";
import { shorten } from "portico/strings";
import { formatDuration, scheduleCommands, schedulePath, timeText } from "portico/schedules";
import { bodyOf, isWhole, options } from "./cli/options.ts";
import { details, type JobView, type RunView, when } from "./cli/views.ts";

const jobs = { noun: "job", root: "/cron/jobs" };
const { show, edit, enable, disable, runs, rm } = scheduleCommands<JobView, RunView>({
  ...jobs,
  summaries: {
    show: "One job, with its next five dates",
    enable: "Switch a job on",
    disable: "Switch a job off; it keeps its history",
    runs: "The history of a job",
  },
  options,
  changeOf: (io) => bodyOf(io, undefined),
  details,
  columns: ["SCHEDULED", "STARTED", "STATUS", "BY", "TOOK", ""],
  row: (run) => [
    timeText(run.scheduledAt, run.timezone),
    timeText(run.startedAt, run.timezone),
    run.status,
    run.trigger,
    run.durationMs === null ? "-" : formatDuration(run.durationMs),
    shorten(run.error ?? run.reason ?? run.result ?? "", 60),
  ],
});

export default defineCommand({
  name: "cron",
  summary: "Jobs that run at a date, at an interval, or once",
  examples: [
    'portico cron add "morning report" --cron "0 8 * * 1-5" --tz Europe/Berlin --message "Summarise the night"',
    'portico cron add tea --at 20m --text "The tea is ready" --now --delete-after-run',
    "portico cron runs tea",
  ],
  commands: [
    {
      name: "list",
      summary: "All jobs",
      run: async (io) =>
        io.show(await io.gateway.request<{ jobs: JobView[] }>("GET", "/cron/jobs"), ({ jobs }) =>
          io.table(
            ["ID", "NAME", "STATUS", "SCHEDULE", "NEXT", "LAST"],
            jobs.map((one) => [
              one.id,
              one.name,
              one.status,
              when(one),
              timeText(one.state.nextRunAt, one.schedule.tz),
              one.state.lastStatus ?? "-",
            ]),
          ),
        ),
    },
    {
      name: "add",
      summary: "Add a job",
      args: [{ name: "name", description: "What to call it", optional: true }],
      options,
      run: async (io) => {
        const body = bodyOf(io, io.args["name"]);
        if (!isWhole(body["schedule"]))
          throw new Error("Say when: --cron EXPR, --every TIME or --at DATE.");
        if (!isWhole(body["payload"]))
          throw new Error("Say what: --message TEXT, --text TEXT or --hook EVENT.");
        io.show(await io.gateway.request<JobView>("POST", "/cron/jobs", body), details);
      },
    },
    show,
    edit,
    enable,
    disable,
    {
      name: "run",
      summary: "Run a job now; its next date stays",
      args: [{ name: "job", description: "Its id, or its name" }],
      run: async (io) =>
        io.show(
          await io.gateway.request<{ runId: string; turnId?: string; eventId?: string }>(
            "POST",
            schedulePath(io, jobs, "/run"),
          ),
          (one) => `started ${one.turnId ?? one.eventId ?? one.runId}`,
        ),
    },
    runs,
    rm,
  ],
});
