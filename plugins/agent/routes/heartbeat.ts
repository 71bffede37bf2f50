/** Routes that show the heartbeat and start one. */
import type { AgentService } from "portico/agent";
import { limitIn } from "portico/strings";
import type { AgentContext } from "../context.ts";
import { listQueuedEvents } from "../heartbeat/events.ts";
import type { Heartbeat } from "../heartbeat/heartbeat.ts";
import { iso } from "../queue/status.ts";
import { agentRoutes } from "./routes-schema.ts";

export function mountHeartbeat(
  agent: AgentContext,
  service: AgentService,
  heartbeat: Heartbeat,
): void {
  const { ctx } = agent;
  ctx.route("GET", "/heartbeat", agentRoutes.heartbeat, async ({ query }) => {
    const { nextAt, everyMs, waitingTurn } = await heartbeat.state();
    const { activeHours } = agent.defaults().heartbeat;
    const events = await listQueuedEvents(agent.store(), limitIn(query, 50));
    return {
      nextAt: nextAt === undefined ? null : iso(nextAt),
      everyMs,
      activeHours,
      turnId: waitingTurn,
      queued: events.count,
      events: events.oldest.map(({ at, ...event }) => ({ ...event, createdAt: iso(at) })),
    };
  });
  ctx.route("POST", "/heartbeat", agentRoutes.beat, async () => {
    const turn = await service.heartbeat("manual");
    return turn
      ? { status: 200, message: "The heartbeat has started.", turnId: turn.turnId }
      : {
          status: 200,
          message: "No event is queued and HEARTBEAT.md is empty, so there is nothing to do.",
          turnId: null,
        };
  });
}
