/** The queue of turns. */
import { PorticoError, type Static } from "portico";
import type { AgentService, TurnReport, TurnStatus } from "portico/agent";
import { choiceIn, limitIn } from "portico/strings";
import { byShortId, type WorkItem } from "portico/store";
import type { AgentContext } from "../context.ts";
import { decide, waitingTurns, withDecisions } from "../queue/decisions.ts";
import { turnReport, turnStatus } from "../queue/status.ts";
import type { TurnBody } from "../turns/turn-body.ts";
import { notFound } from "./common.ts";
import { agentRoutes, type confirmBody, type denyBody, TURN_STATES } from "./routes-schema.ts";

/** Of the newest, for ids that are given in short. */
const MOST_LOOKED_AT = 1000;

/** Looked through for turns that a filter passes. */
const MOST_PAGES = 20;

export function mountTurns(agent: AgentContext, service: AgentService): void {
  const { ctx } = agent;
  ctx.route("GET", "/turns/:id", agentRoutes.turn, async ({ params }): Promise<TurnReport> => {
    const report = turnReport(await find(params["id"] ?? ""));
    if (report.waitingCalls === undefined) return report;
    return { ...report, waitingCalls: await withDecisions(agent, report.waitingCalls) };
  });
  ctx.route("GET", "/turns", agentRoutes.turns, async ({ query }) => ({
    turns: await list(query),
  }));
  ctx.route("POST", "/turns/:id/cancel", agentRoutes.cancel, async ({ params }) => {
    const { id } = await find(params["id"] ?? "");
    return { ok: await service.cancel(id) };
  });
  ctx.route("POST", "/turns/:id/replay", agentRoutes.replay, async ({ params }) => {
    const { id } = await find(params["id"] ?? "");
    if (await agent.store().items.replay(id)) return { ok: true };
    throw new PorticoError("conflict", "Only a dead or cancelled turn can be replayed.");
  });
  ctx.route("POST", "/turns/:id/confirm", agentRoutes.confirm, async (request) => {
    const item = await find(request.params["id"] ?? "");
    const { call: callId } = await request.json<Static<typeof confirmBody>>();
    return decide(agent, item, callId, { answer: "confirmed" });
  });
  ctx.route("POST", "/turns/:id/deny", agentRoutes.deny, async (request) => {
    const item = await find(request.params["id"] ?? "");
    const { call: callId, reason } = await request.json<Static<typeof denyBody>>();
    return decide(agent, item, callId, { answer: "denied", reason });
  });

  /** By its id, in short too. */
  async function find(id: string): Promise<WorkItem<TurnBody>> {
    const { items } = agent.store();
    const exact = await service.turn(id);
    const item = exact
      ? await items.get(exact.turnId)
      : byShortId(await items.list({ kind: "turn", limit: MOST_LOOKED_AT }), id);
    return (item as WorkItem<TurnBody> | undefined) ?? notFound("turn", id);
  }

  async function list(query: URLSearchParams): Promise<TurnStatus[]> {
    const state = choiceIn(query, "state", TURN_STATES);
    const limit = limitIn(query, 50);
    const principal = query.get("principal");
    const session = query.get("session");
    const fits = (turn: TurnStatus) =>
      (state === undefined || turn.state === state) &&
      (principal === null || turn.principal === principal) &&
      (session === null || turn.sessionId === session);
    if (state === "waiting") {
      const waiting = (await waitingTurns(agent)).map(turnStatus).filter(fits);
      return waiting.reverse().slice(0, limit);
    }
    const turns: TurnStatus[] = [];
    let before: number | undefined;
    for (let page = 0; page < MOST_PAGES && turns.length < limit; page++) {
      const pageSize = principal === null ? limit : MOST_LOOKED_AT;
      const items = await agent.store().items.list({
        kind: "turn",
        ...(state === undefined ? {} : { state }),
        ...(session === null ? {} : { lane: session }),
        ...(before === undefined ? {} : { before }),
        limit: pageSize,
      });
      turns.push(...items.map((item) => turnStatus(item as WorkItem<TurnBody>)).filter(fits));
      if (items.length < pageSize) break;
      before = items.at(-1)?.seq;
    }
    return turns.slice(0, limit);
  }
}
