/** Checks feeds, JSON lists, web pages, documents and files. News becomes an event or a turn. */
import { definePlugin } from "portico";
import { targetsIn } from "portico/deliveries";
import type {} from "portico/metrics";
import { failureNotices, startLate } from "portico/schedules";
import { errors } from "./errors.ts";
import type { Operations } from "./operations.ts";
import { mountRoutes } from "./routes.ts";
import { PollsConfig } from "./schema.ts";
import type { Polls } from "./start.ts";
import { addTool } from "./tool.ts";

/** The delay of the start, in ms, so that the gateway can respond to requests first. */
const START_AFTER_MS = 80;

export default definePlugin({
  name: "polls",
  description: "Watches feeds, JSON lists, web pages and files for something new",
  errors,
  config: { polls: PollsConfig },
  configCheck: () => import("./config-check.ts"),
  events: {
    "poll:changed": {
      mode: "notify",
      description: "A poll found something new.",
      sample: {
        pollId: "poll_Ab3dEf6hIj9k",
        name: "releases",
        url: "https://example.com/releases.atom",
        runId: "run_poll_0f3a",
        changedAt: "2027-01-31T08:00:00.000Z",
        count: 1,
        items: [{ id: "v2", title: "Version 2", link: "https://example.com/v2" }],
      },
    },
    "poll:failed": {
      mode: "notify",
      description: "A poll's check failed: its source could not be fetched or read.",
      sample: {
        pollId: "poll_Ab3dEf6hIj9k",
        name: "releases",
        url: "https://example.com/releases.atom",
        runId: "run_poll_0f3b",
        failedAt: "2027-01-31T08:15:00.000Z",
        error: "The server responded with status 503.",
        consecutiveErrors: 1,
        nextCheckAt: "2027-01-31T08:16:00.000Z",
      },
    },
  },
  needs: ["store", "agent", "schedule"],
  commands: { polls: () => import("./cli.ts") },
  setup(ctx, config) {
    const operations = async (): Promise<Operations> => (await late.started()).operations;

    mountRoutes(ctx, operations);
    addTool(ctx, operations);
    ctx.on("principal:forgotten", async ({ context }) =>
      (await operations()).removeAllOf(context.principal),
    );
    ctx.add("grant", {
      name: "polls",
      kind: "poll",
      find: async (name) => (await operations()).grants(name),
    });
    ctx.add("notice", {
      name: "polls",
      list: async () => failureNotices(await (await operations()).failing()),
    });
    ctx.add("metric", {
      name: "polls",
      collect: async () => [
        {
          name: "portico_polls_failing",
          type: "gauge",
          help: "Polls whose last check failed.",
          samples: [{ value: (await (await operations()).failing()).length }],
        },
      ],
    });
    ctx.add("deliveryTargets", {
      name: "polls",
      list: () => targetsIn("polls.entries", late.settings().entries),
    });
    const late = startLate(ctx, {
      section: "polls",
      settings: config.polls,
      afterMs: START_AFTER_MS,
      start: async (settings): Promise<Polls> =>
        (await import("./start.ts")).startPolls(ctx, settings),
    });
  },
});
