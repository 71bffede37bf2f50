/** The agent: turns with tools in durable sessions, wakes and the heartbeat. */
import { definePlugin } from "portico";
import { errors } from "./errors.ts";
import { events } from "./events.ts";
import { defaultsSchema, listSchema, sandboxSchema } from "./schema.ts";
import { setUp } from "./setup.ts";

export default definePlugin({
  name: "agent",
  description: "Runs the agent's turns, with sessions, tools, queued events and heartbeats",
  config: {
    "agents.defaults": defaultsSchema,
    "agents.defaults.sandbox": sandboxSchema,
    "agents.list": listSchema,
  },
  configCheck: () => import("./config-check.ts"),
  names: { provider: ["agent"], builtinChannel: ["agent"] },
  events,
  errors,
  contributions: { grant: { fields: { name: "string", kind: "string", find: "function" } } },
  needs: ["store"],
  commands: {
    agent: () => import("./cli/agent.ts"),
    sessions: () => import("./cli/sessions.ts"),
    heartbeat: () => import("./cli/heartbeat.ts"),
    turns: () => import("./cli/turns.ts"),
    tools: () => import("./cli/tools.ts"),
  },
  setup(ctx, config) {
    ctx.onConfig(setUp(ctx, config));
  },
});
