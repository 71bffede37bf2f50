/** Watches sources: feeds, JSON lists, web pages, documents, files; what is new becomes an event or a turn. */
import { definePlugin } from "portico";
import type { Operations } from "./operations.ts";
import { mountRoutes } from "./routes.ts";
import { PollsConfig } from "./schema.ts";
import type { Polls } from "./start.ts";
import { addTool } from "./tool.ts";

/** The gateway answers first; checks that are due can wait this long. */
const START_AFTER_MS = 80;

export default definePlugin({
  name: "polls",
  description: "Watches feeds, JSON lists, web pages and files for something new",
  config: { polls: PollsConfig },
  needs: ["store", "agent", "schedule"],
  commands: { polls: () => import("./cli.ts") },
  setup(ctx, config) {
    let settings = config.polls;
    let started: Promise<Polls> | undefined;
    const start = (): Promise<Polls> =>
      (started ??= import("./start.ts").then(({ startPolls }) => startPolls(ctx, () => settings)));
    const operations = async (): Promise<Operations> => (await start()).operations;

    ctx.event("poll:changed", {
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
    });
    mountRoutes(ctx, operations);
    addTool(ctx, operations);
    ctx.onConfig(async (next: { polls: PollsConfig }) => {
      const before = settings;
      settings = next.polls;
      try {
        await (await started)?.apply(settings);
      } catch (error) {
        settings = before;
        throw error;
      }
    });

    const timer = setTimeout(() => {
      start().catch((error: unknown) => {
        started = undefined;
        ctx.log.error({ err: error }, "polls could not start");
      });
    }, START_AFTER_MS).unref();
    ctx.defer(async () => {
      clearTimeout(timer);
      await (await started?.catch(() => undefined))?.stop();
    });
  },
});
