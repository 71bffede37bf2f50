import { type CommandIO, defineCommand, type OptionSpec } from "portico";
import { formatDuration, parseDuration } from "./duration.ts";

interface JobView {
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
interface RunView {
  id: string;
  status: string;
  trigger: string;
  scheduledAt: string;
  startedAt: string;
  durationMs: number | null;
  error?: string;
  reason?: string;
  result?: string;
}

const text = (description: string, value = "TEXT"): OptionSpec => ({ type: "string", value, description });
const length = (description: string): OptionSpec => text(description, "TIME");

const options: Record<string, OptionSpec> = {
  name: text("The job's name, where it is not given as a word", "NAME"),
  cron: text('A cron expression of 5 fields, or 6 with seconds first, or @daily: "0 9 * * 1-5"', "EXPR"),
  tz: text("Its time zone, an IANA name; default cron.timezone", "ZONE"),
  every: length("Or an interval: 90s, 5m, 1h30m"),
  at: text("Or once: an ISO date, or a time from now such as 20m", "DATE"),
  schedule: text('Or any of these as one text: "0 9 * * *", "every 5m", "in 20m"'),
  message: text("Starts an agent turn with this task"),
  model: text("Model of the turn", "MODEL"),
  channel: text("Only this channel", "NAME"),
  session: text("Session of the turn; default one of its own", "SESSION"),
  announce: { type: "boolean", description: "Posts the turn's answer to the main session" },
  text: text("Or: queues this event for the next heartbeat"),
  "system-event": text("The same as --text"),
  now: { type: "boolean", description: "Wakes the agent at once for the event" },
  hook: text("Or: emits this event for hooks, such as report:daily", "EVENT"),
  description: text("One line about the job"),
  missed: {
    type: "string",
    choices: ["skip", "run-once"],
    description: "What becomes of a date that was slept through",
  },
  overlap: { type: "string", choices: ["skip", "queue"], description: "What if the run before is still going" },
  timeout: length("Deadline of a run"),
  grace: length("How late a date may be and still count"),
  jitter: length("Delays each date by up to this"),
  "max-errors": { type: "number", value: "N", description: "Failures in a row that disable it; 0 never" },
  "delete-after-run": { type: "boolean", description: "Removes it once its last date has succeeded" },
  disabled: { type: "boolean", description: "Made, but not switched on" },
};

const job = { name: "job", description: "Its id, or its name" };

function scheduleOf({ options: given }: CommandIO): unknown {
  const kinds = ["cron", "every", "at", "schedule"].filter((kind) => given[kind] !== undefined);
  if (kinds.length > 1)
    throw new Error(
      `Give only one of --cron, --every, --at and --schedule, not ${kinds.map((k) => `--${k}`).join(" and ")}.`,
    );
  if (given["every"] !== undefined) return { kind: "every", everyMs: parseDuration(String(given["every"])) };
  if (given["schedule"] !== undefined) return given["schedule"];
  const tz = given["tz"] === undefined ? {} : { tz: given["tz"] };
  if (given["at"] !== undefined) {
    const at = String(given["at"]);
    return { kind: "at", at: /^[\d.]+[a-z]/i.test(at) ? `in ${at}` : at, ...tz };
  }
  return given["cron"] === undefined ? undefined : { kind: "cron", expr: given["cron"], ...tz };
}

function payloadOf({ options: given }: CommandIO): unknown {
  const event = given["text"] ?? given["system-event"];
  const kinds = [given["message"], event, given["hook"]].filter((value) => value !== undefined);
  if (kinds.length > 1) throw new Error("Give only one of --message, --text and --hook.");
  if (event !== undefined) return { kind: "systemEvent", text: event, ...(given["now"] ? { mode: "now" } : {}) };
  if (given["hook"] !== undefined) return { kind: "hook", event: given["hook"] };
  if (given["message"] === undefined) return undefined;
  const { message, model, channel, session } = given;
  return {
    kind: "agentTurn",
    message,
    model,
    channel,
    session,
    ...(given["announce"] ? { delivery: "announce" } : {}),
  };
}

/** The body of a request: what was given on the command line, and nothing else. */
function bodyOf(io: CommandIO, name: string | undefined): Record<string, unknown> {
  const { options: given } = io;
  const span = (key: string): number | undefined =>
    given[key] === undefined ? undefined : parseDuration(String(given[key]));
  return {
    name: name ?? given["name"],
    description: given["description"],
    schedule: scheduleOf(io),
    payload: payloadOf(io),
    missed: given["missed"],
    overlap: given["overlap"],
    timeoutMs: span("timeout"),
    graceMs: span("grace"),
    jitterMs: span("jitter"),
    maxErrors: given["max-errors"],
    deleteAfterRun: given["delete-after-run"],
    ...(given["disabled"] ? { status: "disabled" } : {}),
  };
}

const at = (io: CommandIO, tail = ""): string => `/cron/jobs/${encodeURIComponent(io.args["job"] ?? "")}${tail}`;

const when = ({ schedule }: JobView): string =>
  schedule.kind === "cron"
    ? `${schedule.expr} (${schedule.tz})`
    : schedule.kind === "every"
      ? `every ${formatDuration(schedule.everyMs ?? 0)}`
      : `at ${schedule.at}`;

const what = ({ payload }: JobView): string => payload.text ?? payload.message ?? `hook ${payload.event}`;

function details(view: JobView): string[] {
  const { state } = view;
  return [
    `${view.name}  (${view.id})`,
    ...(view.description ? [view.description] : []),
    `status     ${view.status}${view.source === "config" ? ", from the configuration" : ""}`,
    ...(state.disabledReason ? [`reason     ${state.disabledReason}`] : []),
    `schedule   ${when(view)}`,
    `does       ${view.payload.kind}: ${what(view)}`,
    `missed     ${view.missed}`,
    `overlap    ${view.overlap}`,
    `last run   ${state.lastRunAt ?? "never"}${state.lastStatus ? `  ${state.lastStatus}` : ""}`,
    ...(state.lastError ? [`last error ${state.lastError} (${state.consecutiveErrors} in a row)`] : []),
    ...(view.nextDates ?? []).map((date, i) => `${i === 0 ? "next      " : "          "} ${date}`),
  ];
}

const clip = (value: string, chars: number): string => (value.length > chars ? `${value.slice(0, chars - 1)}…` : value);

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
                clip(run.error ?? run.reason ?? run.result ?? "", 60),
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
