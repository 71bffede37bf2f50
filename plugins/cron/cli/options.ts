/** The options that make a job, and the request that they amount to. */
import type { CommandIO, OptionSpec } from "portico/command-line";
import { parseDuration, payloadFromOptions, scheduleFromText } from "portico/schedules";

const text = (description: string, value = "TEXT"): OptionSpec => ({
  type: "string",
  value,
  description,
});
const length = (description: string): OptionSpec => text(description, "TIME");

export const options: Record<string, OptionSpec> = {
  name: text("The name of the job", "NAME"),
  cron: text(
    'Run at the dates of a cron expression of 5 fields, or 6 with seconds first: "0 9 * * 1-5", @daily',
    "EXPR",
  ),
  tz: text("The time zone of the cron expression, an IANA name (default: cron.timezone)", "ZONE"),
  every: length("Run at an interval: 90s, 5m, 1h30m"),
  at: text("Run once, at an ISO date or after a period such as 20m", "DATE"),
  schedule: text(
    'Run by a schedule of any of these kinds, as one string: "0 9 * * *", "every 5m", "in 20m"',
  ),
  message: text("Start an agent turn with this task"),
  model: text("The model of the turn", "MODEL"),
  channel: text("The only channel that the turn uses", "NAME"),
  session: text("The session of the turn (default: a separate session)", "SESSION"),
  announce: { type: "boolean", description: "Post the turn's result to the main session" },
  text: text("Queue this event for the next heartbeat"),
  "system-event": text("The same as --text"),
  now: { type: "boolean", description: "Start a heartbeat at once for the event of --text" },
  hook: text("Emit this event for hooks, such as report:daily", "EVENT"),
  description: text("A description of the job in one line"),
  missed: {
    type: "string",
    choices: ["skip", "run-once"],
    description: "What happens to a date that passed while the gateway was not running",
  },
  overlap: {
    type: "string",
    choices: ["skip", "queue"],
    description: "What happens to a date at which the previous run has not ended",
  },
  timeout: length("The time limit of a run: 30s, 5m"),
  grace: length("How late a run may start before it counts as missed"),
  jitter: length("Delay each date by up to this length, by the same amount on every gateway"),
  "max-errors": {
    type: "number",
    value: "N",
    description: "The number of consecutive failures that disable the job (0: never)",
  },
  "delete-after-run": {
    type: "boolean",
    description: "Remove the job once its last run has succeeded",
  },
  disabled: { type: "boolean", description: "Add the job without enabling it" },
};

function scheduleOf({ options: given }: CommandIO): unknown {
  const kinds = ["cron", "every", "at", "schedule"].filter((kind) => given[kind] !== undefined);
  if (kinds.length > 1)
    throw new Error(
      `Pass only one of --cron, --every, --at and --schedule, not ${kinds.map((k) => `--${k}`).join(" and ")}.`,
    );
  if (given["every"] !== undefined)
    return { kind: "every", everyMs: parseDuration(String(given["every"])) };
  const tz = given["tz"] as string | undefined;
  if (given["schedule"] !== undefined) return scheduleFromText(String(given["schedule"]), tz);
  if (given["at"] !== undefined) {
    const at = String(given["at"]);
    return { kind: "at", at: /^[\d.]+[a-z]/i.test(at) ? `in ${at}` : at, tz };
  }
  if (given["cron"] !== undefined) return { kind: "cron", expr: given["cron"], tz };
  return tz === undefined ? undefined : { tz };
}

/** Whether it says of what kind it is: with an option such as `--tz` alone, a part holds what changes of one that is there. */
export const isWhole = (part: unknown): boolean =>
  typeof part === "string" || (part as { kind?: string } | undefined)?.kind !== undefined;

/** The body of a request: what was given on the command line, and nothing else. */
export function bodyOf(io: CommandIO, name: string | undefined): Record<string, unknown> {
  const { options: given } = io;
  const span = (key: string): number | undefined =>
    given[key] === undefined ? undefined : parseDuration(String(given[key]));
  return {
    name: name ?? given["name"],
    description: given["description"],
    schedule: scheduleOf(io),
    payload: payloadFromOptions(io),
    missed: given["missed"],
    overlap: given["overlap"],
    timeoutMs: span("timeout"),
    graceMs: span("grace"),
    jitterMs: span("jitter"),
    maxErrors: given["max-errors"],
    deleteAfterRun: given["delete-after-run"],
    status: given["disabled"] ? "disabled" : undefined,
  };
}
