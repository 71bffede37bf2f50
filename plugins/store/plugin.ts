/** Care of the store: its state, checks, copies, and what it forgets after a while. */
import { definePlugin } from "portico";
import { keepHouse } from "./retention.ts";
import { mountRoutes } from "./routes.ts";
import { retentionSchema } from "./schema.ts";

const HOUR_MS = 3_600_000;

export default definePlugin({
  name: "store",
  description: "State, check, backup and clean-up of the store",
  config: { "store.retention": retentionSchema },
  needs: ["store"],
  commands: { store: () => import("./cli.ts") },
  setup(ctx, config) {
    mountRoutes(ctx);
    const forgotten = (sessionId: string): void => {
      // Whoever declares it keeps sessions; without the agent nobody does.
      if (ctx.declared("session:deleted")) void ctx.emit("session:deleted", { sessionId }, { sessionKey: sessionId });
    };
    ctx.task("retention", { everyMs: HOUR_MS }, () =>
      keepHouse(ctx.use("store"), config["store.retention"], forgotten),
    );
  },
});
