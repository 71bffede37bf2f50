/** The management of a gateway: the routes below `/kernel/`, and the commands that inspect and control it. */
import { definePlugin } from "portico";
import type {} from "portico/models";
import { errors } from "./errors.ts";

export default definePlugin({
  name: "management",
  description:
    "Manages the configuration, hooks, plugins and log of the gateway over HTTP and on the command line",
  needs: ["host"],
  errors,
  contributions: { notice: { fields: { name: "string", list: "function" } } },
  commands: {
    config: () => import("./config/command.ts"),
    status: () => import("./commands/status.ts"),
    hooks: () => import("./commands/hooks.ts"),
    plugins: () => import("./commands/plugins.ts"),
    logs: () => import("./commands/logs.ts"),
    doctor: () => import("./commands/doctor.ts"),
  },
  async setup(ctx) {
    const { mountRoutes } = await import("./routes/mount.ts"); // imported here, because commands do not need the routes
    mountRoutes(ctx);
  },
});
