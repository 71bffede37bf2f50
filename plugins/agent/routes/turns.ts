/** The queue of turns. */
import type { Static } from "portico";
import type { AgentService, TurnReport, TurnStatus } from "portico/agent";
import { choiceIn, limitIn } from "portico/strings";
import { byShortId, type WorkItem } from "portico/store";
import type { AgentContext } from "../context.ts";
import { decide, waitingTurns, withDecisions } from "../queue/decisions.ts";
import { progressingTurn, turnReport, turnStatus } from "../queue/status.ts";
import type { TurnBody } from "../turns/turn-body.ts";
import { errors } from "../errors.ts";
import { agentRoutes, type confirmBody, type denyBody, TURN_STATES } from "./routes-schema.ts";

/** Of the newest, for ids that are given in short. */
const MOST_LOOKED_AT = 1000;

/** Looked through for turns that a filter passes. */
const MOST_PAGES = 20;

export function mountTurns(agent: AgentContext, service: AgentService): void {
  const { ctx } = agent;
  ctx.route("GET", "/turns/:id", agentRoutes.turn, async ({ params }): Promise<TurnReport> => {
    const report = await turnReport(agent, await find(params["id"] ?? ""));
    if (report.waitingCalls === undefined) return report;
    return { ...report, waitingCalls: await withDecisions(agent, report.waitingCalls) };
  });
  ctx.route("GET", "/turns", agentRoutes.turns, async ({ query }) => ({
    turns: await listTurns(agent, query),
  }));
  ctx.route("POST", "/turns/:id/cancel", agentRoutes.cancel, async ({ params }) => {
    const { id } = await find(params["id"] ?? "");
    return { ok: await service.cancel(id) };
  });
  ctx.route("POST", "/turns/:id/replay", agentRoutes.replay, async ({ params }) => {
    const { id } = await find(params["id"] ?? "");
    if (await agent.store().items.replay(id)) return { ok: true };
    throw errors.neitherDeadNorCancelled();
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
    if (item === undefined) throw errors.unknownTurn({ id });
    return item as WorkItem<TurnBody>;
  }
}

interface TurnFilter {
  state: (typeof TURN_STATES)[number] | undefined;
  principal: string | null;
  session: string | null;
  limit: number;
}

/** The newest turns that a filter passes. */
async function listTurns(agent: AgentContext, query: URLSearchParams): Promise<TurnStatus[]> {
  const filter: TurnFilter = {
    state: choiceIn(query, "state", TURN_STATES),
    principal: query.get("principal"),
    session: query.get("session"),
    limit: limitIn(query, 50),
  };
  const { state, limit } = filter;
  if (state === "waiting") {
    const waiting = (await waitingTurns(agent)).filter((item) => passes(filter, turnStatus(item)));
    const newest = waiting.reverse().slice(0, limit);
    return Promise.all(newest.map((item) => progressingTurn(agent, item)));
  }
  const passing: WorkItem<TurnBody>[] = [];
  let before: number | undefined;
  for (let page = 0; page < MOST_PAGES && passing.length < limit; page++) {
    const items = await pageOfTurns(agent, filter, before);
    passing.push(...items.filter((item) => passes(filter, turnStatus(item))));
    if (items.length < pageSizeOf(filter)) break;
    before = items.at(-1)?.seq;
  }
  return Promise.all(passing.slice(0, limit).map((item) => progressingTurn(agent, item)));
}

function passes({ state, principal, session }: TurnFilter, turn: TurnStatus): boolean {
  if (state !== undefined && turn.state !== state) return false;
  if (principal !== null && turn.principal !== principal) return false;
  return session === null || turn.sessionId === session;
}

/** The store cannot select by principal, so more are read at once. */
const pageSizeOf = ({ principal, limit }: TurnFilter): number =>
  principal === null ? limit : MOST_LOOKED_AT;

async function pageOfTurns(
  agent: AgentContext,
  filter: TurnFilter,
  before: number | undefined,
): Promise<WorkItem<TurnBody>[]> {
  const { state, session } = filter;
  const items = await agent.store().items.list({
    kind: "turn",
    ...(state === undefined || state === "waiting" ? {} : { state }),
    ...(session === null ? {} : { lane: session }),
    ...(before === undefined ? {} : { before }),
    limit: pageSizeOf(filter),
  });
  return items as WorkItem<TurnBody>[];
}
