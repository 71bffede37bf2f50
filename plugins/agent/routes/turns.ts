/** The queue of turns. */
import { PorticoError } from "portico";
import type { AgentService, TurnStatus } from "portico/agent";
import { choiceIn, limitIn } from "portico/strings";
import { byShortId, type WorkItem } from "portico/store";
import type { AgentContext } from "../context.ts";
import { turnStatus } from "../queue/status.ts";
import type { TurnBody } from "../queue/turn-body.ts";
import { notFound, owner } from "./common.ts";

export function mountTurns(agent: AgentContext, service: AgentService): void {
  const { ctx } = agent;
  ctx.route("GET", "/turns/:id", owner, async ({ params }) => find(params["id"] ?? ""));
  ctx.route("GET", "/turns", owner, async ({ query }) => {
    const session = query.get("session");
    const items = await agent.store().items.list({
      kind: "turn",
      state: choiceIn(query, "state", STATES),
      lane: session ?? undefined,
      limit: limitIn(query, 50),
    });
    return { turns: items.map((item) => turnStatus(item as WorkItem<TurnBody>)) };
  });
  ctx.route("POST", "/turns/:id/cancel", owner, async ({ params }) => {
    const { turnId } = await find(params["id"] ?? "");
    return { ok: await service.cancel(turnId) };
  });
  ctx.route("POST", "/turns/:id/replay", owner, async ({ params }) => {
    const { turnId } = await find(params["id"] ?? "");
    if (await agent.store().items.replay(turnId)) return { ok: true };
    throw new PorticoError("conflict", "Only a dead or cancelled turn can be replayed.");
  });

  /** By its id, in short too. */
  async function find(id: string): Promise<TurnStatus> {
    const exact = await service.turn(id);
    if (exact) return exact;
    const item = byShortId(
      await agent.store().items.list({ kind: "turn", limit: MOST_LOOKED_AT }),
      id,
    );
    return item ? turnStatus(item as WorkItem<TurnBody>) : notFound("turn", id);
  }
}

/** Of the newest, for ids that are given in short. */
const MOST_LOOKED_AT = 1000;

const STATES = ["queued", "running", "held", "done", "dead", "cancelled"] as const;
