/** Events from outside systems: accepted only once they are on stable storage, then handed to the agent. */
import { definePlugin, type Dispose, type Method } from "portico";
import { webhooksSchema } from "./schema.ts";
import { errors } from "./errors.ts";
import { events } from "./log/received.ts";
import type { Settings } from "./settings.ts";

/** Any method: the order of checks, and what every answer says, are the webhooks' own. The router takes "" for all. */
const ANY = "" as Method;

export default definePlugin({
  name: "webhooks",
  description: "Endpoints for events from outside systems: wakes, turns, mappings, signatures",
  config: { webhooks: webhooksSchema },
  events,
  errors,
  needs: ["store", "agent"],
  commands: { webhooks: () => import("./cli.ts") },
  async setup(ctx, config) {
    const { setUp } = await import("./setup.ts");
    const webhooks = await setUp(ctx, config.webhooks);
    let undo: Dispose[] = [];

    function mount({ prefix, enabled, config: { maxBodyBytes }, warning }: Settings): void {
      const before = undo;
      undo = [
        ctx.errors(prefix, ({ status, code, message, param, details }) => ({
          status,
          error: { code, message, param, ...details },
        })),
      ];
      if (warning !== undefined) ctx.log.warn({}, warning);
      const routes: [Method, string][] = [
        [ANY, prefix],
        [ANY, `${prefix}/*`],
        // a path without a wildcard is found at once
        ["POST", `${prefix}/wake`],
        ["POST", `${prefix}/agent`],
      ];
      const options = { access: "own", maxBodyBytes, summary: "Webhooks" } as const;
      if (enabled) for (const [method, path] of routes) undo.push(ctx.route(method, path, options, webhooks.handle));
      for (const one of before) void one();
    }

    mount(webhooks.settings());
    ctx.onConfig(async (next: typeof config) => mount(await webhooks.apply(next.webhooks)));
  },
});
