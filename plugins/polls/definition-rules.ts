/** Rules for definitions that need no running gateway. The start and `portico config validate` apply the same ones. */
import { eventPlaceholders } from "portico/deliveries";
import {
  formatDuration,
  parseDuration,
  type PayloadSpec,
  type ScheduleSpec,
} from "portico/schedules";
import { checkTemplate } from "./checking/template.ts";
import { errors } from "./errors.ts";
import type { PollBody } from "./poll.ts";
import type { ConfiguredPoll } from "./schema.ts";

const DEFAULT_EVERY = "5m";
const MIN_INTERVAL_MS = 100;

/** Returns the interval or schedule of a poll. `readSchedule` throws for an invalid schedule. */
export function readTiming(
  { every, schedule }: Pick<ConfiguredPoll, "every" | "schedule">,
  readSchedule: (schedule: unknown) => ScheduleSpec,
): Pick<PollBody, "every" | "schedule"> {
  if (schedule !== undefined) {
    if (every !== undefined) throw errors.everyAndSchedule({ param: "every" });
    return { schedule: readSchedule(schedule) };
  }
  const everyMs = parseDuration(every ?? DEFAULT_EVERY, "every");
  if (everyMs < MIN_INTERVAL_MS) throw errors.everyTooShort({ param: "every" });
  return { every: formatDuration(everyMs), schedule: { kind: "every", everyMs } };
}

/** Validates the payload of a poll. Throws `invalid_request_error`. */
export function checkPollPayload(payload: PayloadSpec): void {
  refuseAnnounce(payload);
  if (payload.kind === "systemEvent") checkTemplate(payload.text, "payload.text");
  if (payload.kind !== "agentTurn") return;
  checkTemplate(payload.message, "payload.message");
  if (payload.session !== undefined) checkTemplate(payload.session, "payload.session");
  if (typeof payload.delivery !== "object") return;
  for (const placeholder of eventPlaceholders(payload.delivery))
    checkTemplate(placeholder, "payload.delivery");
}

/** Outsiders write the content that a poll finds, so its turns may not post to the main session. */
function refuseAnnounce(payload: { kind?: unknown; delivery?: unknown }): void {
  if (payload.kind === "agentTurn" && payload.delivery === "announce")
    throw errors.announceNotAllowed({ param: "payload.delivery" });
}
