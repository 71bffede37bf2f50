/**
 * Cron jobs: their schedules, payloads and histories. The plugin also provides the service `schedule`, which polls use.
 */
import { definePlugin, type Static } from "portico";
import { targetsIn } from "portico/deliveries";
import type {} from "portico/metrics";
import {
  failureNotices,
  mountScheduleRoutes,
  type ScheduleTools,
  startLate,
} from "portico/schedules";
import { errors } from "./errors.ts";
import type { Operations } from "./operations.ts";
import { previewRoute } from "./preview-route.ts";
import { CronConfig, JOBS, type previewRequest } from "./schema.ts";
import type { Cron } from "./start.ts";
import { addTool } from "./tool.ts";

/** The delay of the start, in ms, so that the gateway can respond to requests first. */
const START_AFTER_MS = 50;

export default definePlugin({
  name: "cron",
  description: "Runs jobs on a cron schedule, at an interval, or once",
  errors,
  config: { cron: CronConfig },
  configCheck: () => import("./config-check.ts"),
  events: {
    "cron:fired": {
      mode: "notify",
      description: "A cron job was started, by its schedule or by hand.",
      sample: {
        jobId: "job_Ab3dEf6hIj9k",
        name: "morning report",
        runId: "run_cron_0f3a",
        scheduledAt: "2027-01-31T08:00:00.000Z",
        firedAt: "2027-01-31T08:00:00.012Z",
        trigger: "schedule",
        payload: "agentTurn",
        turnId: "turn_cron_0f3a",
      },
    },
    "cron:failed": {
      mode: "notify",
      description: "A run of a cron job failed.",
      sample: {
        jobId: "job_Ab3dEf6hIj9k",
        name: "morning report",
        runId: "run_cron_0f3a",
        scheduledAt: "2027-01-31T08:00:00.000Z",
        failedAt: "2027-01-31T08:01:00.012Z",
        status: "timeout",
        error: "The turn took longer than 60000 ms.",
        turnId: "turn_cron_0f3a",
        consecutiveErrors: 1,
        disabled: false,
      },
    },
  },
  needs: ["store", "agent"],
  commands: { cron: () => import("./cli.ts") },
  setup(ctx, config) {
    let ownZone: string | undefined;
    const zone = (): string => {
      const { timezone } = late.settings();
      if (timezone !== undefined) return timezone;
      ownZone ??= Intl.DateTimeFormat().resolvedOptions().timeZone;
      return ownZone;
    };
    const operations = async (): Promise<Operations> => (await late.started()).operations;

    let tools: Promise<ScheduleTools> | undefined;
    ctx.provide("schedule", {
      load: () =>
        (tools ??= import("./tools.ts").then(({ createScheduleTools }) =>
          createScheduleTools(ctx, zone),
        )),
    });
    mountScheduleRoutes(ctx, "/cron/jobs", JOBS, operations);
    ctx.route("POST", "/cron/preview", previewRoute, async (call) => {
      const { schedule } = await call.json<Static<typeof previewRequest>>();
      const { previewSchedule } = await import("./preview.ts");
      return previewSchedule(schedule, ctx.use("store").now(), zone());
    });
    addTool(ctx, operations);
    ctx.on("principal:forgotten", async ({ context }) =>
      (await operations()).removeAllOf(context.principal),
    );
    ctx.add("notice", {
      name: "cron",
      list: async () => failureNotices(await (await operations()).failing()),
    });
    ctx.add("metric", {
      name: "cron",
      collect: async () => [
        {
          name: "portico_cron_jobs_failing",
          type: "gauge",
          help: "Jobs whose last run failed.",
          samples: [{ value: (await (await operations()).failing()).length }],
        },
      ],
    });
    ctx.add("deliveryTargets", {
      name: "cron",
      list: () => targetsIn("cron.jobs", late.settings().jobs),
    });
    let stopHousekeeping: (() => Promise<void>) | undefined;
    const housekeepingTimer = setTimeout(async () => {
      const { startHousekeeping } = await import("./firing/housekeeping.ts");
      if (!ctx.signal.aborted)
        stopHousekeeping = startHousekeeping(ctx, () => late.settings().keepRuns);
    }, 60_000).unref();
    ctx.defer(async () => {
      clearTimeout(housekeepingTimer);
      await stopHousekeeping?.();
    });
    const late = startLate(ctx, {
      section: "cron",
      settings: config.cron,
      afterMs: START_AFTER_MS,
      start: async (settings): Promise<Cron> =>
        (await import("./start.ts")).startCron(ctx, settings, zone),
    });
  },
});
