/** The options that define a job, and the request that they form. */
import type { CommandIO, OptionSpec } from "portico/command-line";
import { parseDuration, payloadFromOptions, scheduleFromText } from "portico/schedules";

const textOption = (description: string, value = "TEXT"): OptionSpec => ({
  type: "string",
  value,
  description,
});
const durationOption = (description: string): OptionSpec => textOption(description, "TIME");

export const options: Record<string, OptionSpec> = {
  name: textOption("The name of the job", "NAME"),
  cron: textOption(
    'Run by a cron expression of 5 fields, or 6 with seconds first: "0 9 * * 1-5", @daily',
    "EXPR",
  ),
  tz: textOption(
    "The time zone of the cron expression, an IANA name (default: cron.timezone)",
    "ZONE",
  ),
  every: durationOption("Run at an interval: 90s, 5m, 1h30m"),
  at: textOption("Run once, at an ISO 8601 time or after a period such as 20m", "DATE"),
  schedule: textOption(
    'Run by a schedule of any kind, written as one string: "0 9 * * *", "every 5m", "in 20m"',
  ),
  message: textOption("Start an agent turn with this task"),
  model: textOption("The model of the turn", "MODEL"),
  channel: textOption("The turn uses only this channel", "NAME"),
  session: textOption("The session of the turn (default: a separate session)", "SESSION"),
  announce: { type: "boolean", description: "Post the turn's result to the main session" },
  text: textOption("Queue this event for the next heartbeat"),
  "system-event": textOption("The same as --text"),
  now: {
    type: "boolean",
    description: "With --text: start a heartbeat at once instead of waiting for the next one",
  },
  hook: textOption("Emit this event for hooks, such as report:daily", "EVENT"),
  description: textOption("A description of the job in one line"),
  missed: {
    type: "string",
    choices: ["skip", "run-once"],
    description: "What to do about a run that was due while the gateway was not running",
  },
  overlap: {
    type: "string",
    choices: ["skip", "queue"],
    description: "What to do about a run that is due while the previous one is still in progress",
  },
  timeout: durationOption("The time limit of a run: 30s, 5m"),
  grace: durationOption("How late a run may start before it counts as missed"),
  jitter: durationOption(
    "The maximum delay that is added to each run; all gateways add the same delay",
  ),
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

function scheduleOf({ options: values }: CommandIO): unknown {
  const kinds = ["cron", "every", "at", "schedule"].filter((kind) => values[kind] !== undefined);
  if (kinds.length > 1)
    throw new Error(
      `Pass only one of --cron, --every, --at and --schedule, not ${kinds.map((k) => `--${k}`).join(" and ")}.`,
    );
  if (values["every"] !== undefined)
    return { kind: "every", everyMs: parseDuration(String(values["every"])) };
  const tz = values["tz"] as string | undefined;
  if (values["schedule"] !== undefined) return scheduleFromText(String(values["schedule"]), tz);
  if (values["at"] !== undefined) {
    const at = String(values["at"]);
    return { kind: "at", at: /^[\d.]+[a-z]/i.test(at) ? `in ${at}` : at, tz };
  }
  if (values["cron"] !== undefined) return { kind: "cron", expr: values["cron"], tz };
  return tz === undefined ? undefined : { tz };
}

/**
 * Returns whether a schedule or payload has a kind. Without one, it only holds changes of an existing part, such as
 * `--tz` alone.
 */
export const hasKind = (part: unknown): boolean =>
  typeof part === "string" || (part as { kind?: string } | undefined)?.kind !== undefined;

/** Returns the body of a request, with only those members that the command line sets. */
export function bodyOf(io: CommandIO, name: string | undefined): Record<string, unknown> {
  const { options: values } = io;
  const readDuration = (key: string): number | undefined =>
    values[key] === undefined ? undefined : parseDuration(String(values[key]));
  return {
    name: name ?? values["name"],
    description: values["description"],
    schedule: scheduleOf(io),
    payload: payloadFromOptions(io),
    missed: values["missed"],
    overlap: values["overlap"],
    timeoutMs: readDuration("timeout"),
    graceMs: readDuration("grace"),
    jitterMs: readDuration("jitter"),
    maxErrors: values["max-errors"],
    deleteAfterRun: values["delete-after-run"],
    status: values["disabled"] ? "disabled" : undefined,
  };
}
