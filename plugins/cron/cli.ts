import { type CommandIO, defineCommand, formatDuration, shorten } from "portico";
import { bodyOf, options } from "./cli/options.ts";
import { details, type JobView, type RunView, when } from "./cli/views.ts";

const job = { name: "job", description: "Its id, or its name" };
const at = (io: CommandIO, tail = ""): string => `/cron/jobs/${encodeURIComponent(io.args["job"] ?? "")}${tail}`;

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
              one.state.nextRunAt ?? "-",
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
        if (body["schedule"] === undefined) throw new Error("Say when: --cron EXPR, --every TIME or --at DATE.");
        if (body["payload"] === undefined) throw new Error("Say what: --message TEXT, --text TEXT or --hook EVENT.");
        io.show(await io.gateway.request<JobView>("POST", "/cron/jobs", body), details);
      },
    },
    {
      name: "show",
      summary: "One job, with its next five dates",
      args: [job],
      run: async (io) => io.show(await io.gateway.request<JobView>("GET", at(io)), details),
    },
    {
      name: "edit",
      summary: "Change a job; what is not given stays",
      args: [job],
      options,
      run: async (io) => {
        const body = bodyOf(io, undefined);
        if (Object.values(body).every((value) => value === undefined))
          throw new Error("Nothing to change: give an option.");
        io.show(await io.gateway.request<JobView>("PATCH", at(io), body), details);
      },
    },
    {
      name: "enable",
      summary: "Switch a job on",
      args: [job],
      run: async (io) => io.show(await io.gateway.request<JobView>("POST", at(io, "/enable")), details),
    },
    {
      name: "disable",
      summary: "Switch a job off; it keeps its history",
      args: [job],
      run: async (io) =>
        io.show(await io.gateway.request<JobView>("POST", at(io, "/disable")), (one) => `${one.name} is disabled.`),
    },
    {
      name: "run",
      summary: "Run a job now; its next date stays",
      args: [job],
      run: async (io) =>
        io.show(
          await io.gateway.request<{ runId: string; turnId?: string; eventId?: string }>("POST", at(io, "/run")),
          (one) => `started ${one.turnId ?? one.eventId ?? one.runId}`,
        ),
    },
    {
      name: "runs",
      summary: "The history of a job",
      args: [job],
      options: { limit: { type: "number", value: "N", description: "How many, newest first; default 20" } },
      run: async (io) =>
        io.show(
          await io.gateway.request<{ runs: RunView[] }>("GET", at(io, "/runs"), undefined, {
            query: { limit: io.options["limit"] as number | undefined },
          }),
          ({ runs }) =>
            io.table(
              ["SCHEDULED", "STARTED", "STATUS", "BY", "TOOK", ""],
              runs.map((run) => [
                run.scheduledAt,
                run.startedAt,
                run.status,
                run.trigger,
                run.durationMs === null ? "-" : formatDuration(run.durationMs),
                shorten(run.error ?? run.reason ?? run.result ?? "", 60),
              ]),
            ),
        ),
    },
    {
      name: "rm",
      summary: "Remove a job and its history",
      args: [job],
      run: async (io) =>
        io.show(await io.gateway.request<{ name: string }>("DELETE", at(io)), ({ name }) => `${name} is removed.`),
    },
  ],
});
