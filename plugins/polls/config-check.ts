/**
 * Reports polls of the configuration that could not run: invalid sources and schedules, unknown models, and
 * undeliverable results.
 */
import type { ConfigCheck, ConfigCheckSubject, ConfigFault } from "portico";
import { deliveryFaults } from "portico/deliveries";
import { targetFaults } from "portico/models";
import { parseSchedule, readPayload, readSchedule } from "portico/schedules";
import { definitionFault } from "portico/strings";
import { checkSource } from "./check-source.ts";
import { checkPollPayload, readTiming } from "./definition-rules.ts";
import { checkAddress, createGuardWithPorts } from "./policy.ts";
import type { ConfiguredPoll, PollsConfig } from "./schema.ts";
import { confinePath } from "./sources/confined.ts";

const check: ConfigCheck = (subject) => {
  const settings = subject.config["polls"] as PollsConfig | undefined;
  return Object.entries(settings?.entries ?? {}).flatMap(([name, poll]) =>
    findPollFaults(subject, settings as PollsConfig, poll, ["polls", "entries", name]),
  );
};
export default check;

function findPollFaults(
  subject: ConfigCheckSubject,
  settings: PollsConfig,
  poll: ConfiguredPoll,
  path: string[],
): ConfigFault[] {
  const parts = [
    () => checkSource(poll.source),
    () => checkTiming(subject, poll),
    () => checkPlace(subject, settings, poll),
    () => checkPayload(poll.payload),
  ];
  const faults = parts.flatMap((check) => {
    try {
      check();
      return [];
    } catch (error) {
      return definitionFault(error, path);
    }
  });
  const payload = Object(poll.payload) as {
    model?: unknown;
    channel?: unknown;
    delivery?: unknown;
  };
  return [
    ...faults,
    ...targetFaults(subject, payload, [...path, "payload"]),
    ...deliveryFaults(payload.delivery, [...path, "payload", "delivery"]),
  ];
}

function checkTiming({ config }: ConfigCheckSubject, poll: ConfiguredPoll): void {
  const { timezone } = Object(config["cron"]) as { timezone?: string };
  const zone = timezone ?? Intl.DateTimeFormat().resolvedOptions().timeZone;
  readTiming(poll, (schedule) =>
    parseSchedule(readSchedule(schedule, "schedule"), Date.now(), zone),
  );
}

function checkPayload(payload: unknown): void {
  if (payload !== undefined) checkPollPayload(readPayload(payload, "payload"));
}

/** Validates the address or path of a source. The gateway's own ports are unknown here, because it may not run. */
function checkPlace(
  { paths }: ConfigCheckSubject,
  settings: PollsConfig,
  { source, allowPrivateNetwork = false }: ConfiguredPoll,
): void {
  const poll = { source, origin: "config" as const, allowPrivateNetwork };
  if (source.url !== undefined)
    checkAddress(
      createGuardWithPorts(settings, poll, () => []),
      source.url,
    );
  if (source.path !== undefined && paths)
    confinePath([paths.workspace, ...settings.roots], source.path);
}
