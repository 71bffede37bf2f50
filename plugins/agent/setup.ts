/** Creates the parts of the agent and connects them. */
import type { PluginContext } from "portico";
import { createEventFeed } from "./routes/feed.ts";
import { modelNotices } from "./turns/model.ts";
import { createHeartbeat } from "./heartbeat/heartbeat.ts";
import { type AgentConfig, createAgentContext } from "./context.ts";
import { createProgress } from "./turns/progress.ts";
import { createAgentProvider } from "./provider.ts";
import { mountAgent } from "./routes/agent.ts";
import { agentRoutes } from "./routes/routes-schema.ts";
import { mountHeartbeat } from "./routes/heartbeat.ts";
import { mountSessions } from "./routes/sessions.ts";
import { mountTools } from "./routes/tools.ts";
import { mountTurns } from "./routes/turns.ts";
import { waitingNotices } from "./queue/decisions.ts";
import { createService } from "./service.ts";
import { deadTurnNotices } from "./queue/status.ts";
import { createWorker } from "./queue/worker.ts";

/** Returns the function that applies a changed configuration. */
export function setUp(ctx: PluginContext, initial: AgentConfig): (next: AgentConfig) => void {
  let config = initial;
  const agent = createAgentContext(ctx, () => config);
  const progress = createProgress();
  const heartbeat = createHeartbeat(agent);
  const worker = createWorker(agent, heartbeat, progress);
  const service = createService(agent, { worker, heartbeat, progress });

  ctx.provide("agent", service);
  ctx.add("provider", createAgentProvider({ agent, service, progress }));
  ctx.add("meter", { name: "agent", finished: (record) => agent.costs.recordCost(record) });
  ctx.add("notice", { name: "agent", list: () => modelNotices(agent) });
  ctx.add("notice", { name: "turns", list: () => deadTurnNotices(agent) });
  ctx.add("notice", { name: "confirmations", list: () => waitingNotices(agent) });
  mountAgent({ agent, service, worker, progress });
  mountTurns(agent, service);
  mountTools(agent);
  mountSessions(agent);
  mountHeartbeat(agent, service, heartbeat);
  ctx.route("GET", "/events", agentRoutes.events, createEventFeed(ctx));

  // This opens the store, so it waits until the gateway has started and can respond.
  const startTimer = setTimeout(() => {
    worker.start();
    heartbeat.start();
  }, 150);
  ctx.on("gateway:shutdown", () => worker.drain());
  ctx.defer(async () => {
    clearTimeout(startTimer);
    await Promise.all([heartbeat.stop(), worker.stop()]);
  });
  return (next) => {
    config = next;
    heartbeat.reschedule();
  };
}
