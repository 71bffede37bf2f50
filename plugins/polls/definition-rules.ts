/** Rules for definitions that need no running gateway: a start and `portico config validate` apply the same ones. */
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
const SHORTEST_MS = 100;

/** When a poll is checked. `readSchedule` throws for a schedule that it cannot read. */
export function timingOf(
  { every, schedule }: Pick<ConfiguredPoll, "every" | "schedule">,
  readSchedule: (schedule: unknown) => ScheduleSpec,
): Pick<PollBody, "every" | "schedule"> {
  if (schedule !== undefined) {
    if (every !== undefined) throw errors.everyAndSchedule({ param: "every" });
    return { schedule: readSchedule(schedule) };
  }
  const everyMs = parseDuration(every ?? DEFAULT_EVERY, "every");
  if (everyMs < SHORTEST_MS) throw errors.everyTooShort({ param: "every" });
  return { every: formatDuration(everyMs), schedule: { kind: "every", everyMs } };
}

/** What a payload may hold in a poll. Throws `invalid_request_error`. */
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

/** Strangers write what a poll finds, so its turns may not post to the main session. */
function refuseAnnounce(payload: { kind?: unknown; delivery?: unknown }): void {
  if (payload.kind === "agentTurn" && payload.delivery === "announce")
    throw errors.announceNotAllowed({ param: "payload.delivery" });
}
