/** Accepts events from outside systems once they are on stable storage, and passes them to the agent. */
import {
  definePlugin,
  type Dispose,
  type ErrorForm,
  type Method,
  type RouteOptions,
} from "portico";
import { webhooksSchema } from "./schema.ts";
import { errors } from "./errors.ts";
import { events } from "./log/received.ts";
import type { Settings } from "./settings.ts";

/** The router's value for all methods: the webhooks check the method themselves, in their own order. */
const ANY = "" as Method;

const renderError: ErrorForm = ({ status, code, message, param, details }) => ({
  status,
  error: { code, message, param, ...details },
});

const refuse = (): never => {
  throw errors.webhooksOff();
};

export default definePlugin({
  name: "webhooks",
  description: "Accepts events from other systems, and starts the agent's work for them",
  config: { webhooks: webhooksSchema },
  configCheck: () => import("./config-check.ts"),
  events,
  errors,
  needs: ["store", "agent"],
  commands: { webhooks: () => import("./cli.ts") },
  async setup(ctx, config) {
    const { ENDPOINTS, setUp, webhookError } = await import("./parts.ts");
    const webhooks = await setUp(ctx, config.webhooks);
    let undo: Dispose[] = [];

    function mount({ prefix, enabled, config: { maxBodyBytes }, warning }: Settings): void {
      const before = undo;
      undo = [ctx.errors(prefix, renderError, { schema: webhookError })];
      if (warning !== undefined) ctx.log.warn({}, warning);
      const route = (method: Method, path: string, declaration: Omit<RouteOptions, "access">) => {
        const options = {
          ...declaration,
          access: "own",
          maxBodyBytes,
          checkedBy: "handler",
        } as const;
        undo.push(ctx.route(method, prefix + path, options, enabled ? webhooks.handle : refuse));
      };
      for (const path of ["", "/*"]) route(ANY, path, { summary: "Webhooks" });
      if (enabled) for (const endpoint of ENDPOINTS) route(...endpoint);
      for (const unmount of before) void unmount();
    }

    mount(webhooks.settings());
    ctx.onConfig(async (next: typeof config) => mount(await webhooks.apply(next.webhooks)));
  },
});
