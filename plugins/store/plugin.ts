/** Opens and provides the store, mounts its routes and checks, and removes old records. */
import { definePlugin } from "portico";
import { errors } from "./errors.ts";
import { createHookKv } from "./hook-kv.ts";
import { isPostgres, openStore, resolveUrl } from "./open.ts";
import { watchReadiness } from "./readiness.ts";
import { applyRetention } from "./records/retention.ts";
import { mountRoutes } from "./routes.ts";
import { storeSchema } from "./schema.ts";

const HOUR_MS = 3_600_000;

export default definePlugin({
  name: "store",
  description:
    "Stores the queue, schedules, sessions and hook data durably, with checks, backup and clean-up",
  config: { store: storeSchema },
  errors,
  hookContext: { kv: "get, set, delete, list: a small durable store for each hook" },
  commands: { store: () => import("./cli.ts") },
  checks: { store: () => import("./check.ts") },
  async setup(ctx, config) {
    const url = resolveUrl(config, ctx.paths.state);
    const isShared = config.store.shared ?? isPostgres(url);
    const sharedByWorkers = ctx.find("workers") ? "workers" : "nobody";
    const sharedBy = isShared ? "gateways" : sharedByWorkers;
    const { pool: size, statementTimeoutMs } = config.store;
    const connections = { size, statementTimeoutMs };
    const store = openStore({ url, log: ctx.log, sharedBy, connections });
    ctx.defer(() => store.close());
    // A file is opened at its first use, since opening it rarely fails.
    if (isPostgres(url)) await store.open();
    ctx.provide("store", store);
    ctx.add("hookContext", { name: "kv", create: ({ hook }) => createHookKv(store, hook) });
    ctx.add("notice", {
      name: "store",
      async list() {
        const { problem } = await store.health(true);
        return problem === undefined ? [] : [`${problem}.`];
      },
    });
    watchReadiness(ctx, store);
    mountRoutes(ctx);
    let { retention } = config.store;
    ctx.onConfig((next: typeof config) => {
      ({ retention } = next.store);
    });
    const onSessionDeleted = (sessionId: string): void => {
      // The plugin that declares the event owns the sessions; without the agent, there are no sessions.
      if (ctx.declared("session:deleted"))
        void ctx.emit(
          "session:deleted",
          { sessionId },
          { sessionKey: sessionId, principal: "owner" },
        );
    };
    ctx.task("retention", { everyMs: HOUR_MS }, () =>
      applyRetention(store, retention, onSessionDeleted),
    );
  },
});
