/**
 * Reports jobs of the configuration that could not run: invalid schedules, unknown models, and undeliverable results.
 */
import type { ConfigCheck, ConfigCheckSubject, ConfigFault } from "portico";
import { deliveryFaults } from "portico/deliveries";
import { targetFaults } from "portico/models";
import { parseSchedule } from "portico/schedules";
import { definitionFault } from "portico/strings";
import type { ConfiguredJob, CronConfig } from "./schema.ts";

const check: ConfigCheck = (subject) => {
  const { jobs = {}, timezone } = (subject.config["cron"] ?? {}) as Partial<CronConfig>;
  const zone = timezone ?? Intl.DateTimeFormat().resolvedOptions().timeZone;
  return Object.entries(jobs).flatMap(([name, job]) =>
    findJobFaults(subject, job, zone, ["cron", "jobs", name]),
  );
};
export default check;

function findJobFaults(
  subject: ConfigCheckSubject,
  { schedule, payload }: ConfiguredJob,
  zone: string,
  path: string[],
): ConfigFault[] {
  const faults: ConfigFault[] = [];
  try {
    parseSchedule(schedule, Date.now(), zone);
  } catch (error) {
    faults.push(definitionFault(error, path));
  }
  if (payload.kind !== "agentTurn") return faults;
  return [
    ...faults,
    ...targetFaults(subject, payload, [...path, "payload"]),
    ...deliveryFaults(payload.delivery, [...path, "payload", "delivery"]),
  ];
}
