/** Routes for the queue of turns. */
import type { Static } from "portico";
import type { AgentService, TurnReport, TurnStatus } from "portico/agent";
import { choiceIn, limitIn } from "portico/strings";
import { byShortId, type WorkItem } from "portico/store";
import type { AgentContext } from "../context.ts";
import { decide, listWaitingTurns, addDecisions } from "../queue/decisions.ts";
import { reportProgress, reportTurn, toTurnStatus } from "../queue/status.ts";
import type { TurnBody } from "../turns/turn-body.ts";
import { errors } from "../errors.ts";
import { agentRoutes, type confirmBody, type denyBody, TURN_STATES } from "./routes-schema.ts";

/** The number of newest turns that are searched for a shortened id, and the page size of a scan by principal. */
const MAX_SCANNED = 1000;

/** The number of pages that are scanned for turns that match a filter. */
const MAX_PAGES = 20;

export function mountTurns(agent: AgentContext, service: AgentService): void {
  const { ctx } = agent;
  ctx.route("GET", "/turns/:id", agentRoutes.turn, async ({ params }): Promise<TurnReport> => {
    const report = await reportTurn(agent, await findTurn(params["id"] ?? ""));
    if (report.waitingCalls === undefined) return report;
    return { ...report, waitingCalls: await addDecisions(agent, report.waitingCalls) };
  });
  ctx.route("GET", "/turns", agentRoutes.turns, async ({ query }) => ({
    turns: await listTurns(agent, query),
  }));
  ctx.route("POST", "/turns/:id/cancel", agentRoutes.cancel, async ({ params }) => {
    const { id } = await findTurn(params["id"] ?? "");
    return { ok: await service.cancel(id) };
  });
  ctx.route("POST", "/turns/:id/replay", agentRoutes.replay, async ({ params }) => {
    const { id } = await findTurn(params["id"] ?? "");
    if (await agent.store().items.replay(id)) return { ok: true };
    throw errors.neitherDeadNorCancelled();
  });
  ctx.route("POST", "/turns/:id/confirm", agentRoutes.confirm, async (request) => {
    const item = await findTurn(request.params["id"] ?? "");
    const { call: callId } = await request.json<Static<typeof confirmBody>>();
    return decide(agent, item, callId, { answer: "confirmed" });
  });
  ctx.route("POST", "/turns/:id/deny", agentRoutes.deny, async (request) => {
    const item = await findTurn(request.params["id"] ?? "");
    const { call: callId, reason } = await request.json<Static<typeof denyBody>>();
    return decide(agent, item, callId, { answer: "denied", reason });
  });

  /** Finds a turn by its id or a part of it. Throws `not_found`. */
  async function findTurn(id: string): Promise<WorkItem<TurnBody>> {
    const { items } = agent.store();
    const status = await service.turn(id);
    const item = status
      ? await items.get(status.turnId)
      : byShortId(await items.list({ kind: "turn", limit: MAX_SCANNED }), id);
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

/** Returns the newest turns that match the filter. */
async function listTurns(agent: AgentContext, query: URLSearchParams): Promise<TurnStatus[]> {
  const filter: TurnFilter = {
    state: choiceIn(query, "state", TURN_STATES),
    principal: query.get("principal"),
    session: query.get("session"),
    limit: limitIn(query, 50),
  };
  const { state, limit } = filter;
  if (state === "waiting") {
    const waitingItems = (await listWaitingTurns(agent)).filter((item) =>
      matchesFilter(filter, toTurnStatus(item)),
    );
    const newest = waitingItems.reverse().slice(0, limit);
    return Promise.all(newest.map((item) => reportProgress(agent, item)));
  }
  const matchingItems: WorkItem<TurnBody>[] = [];
  let before: number | undefined;
  for (let page = 0; page < MAX_PAGES && matchingItems.length < limit; page++) {
    const items = await pageOfTurns(agent, filter, before);
    matchingItems.push(...items.filter((item) => matchesFilter(filter, toTurnStatus(item))));
    if (items.length < pageSizeOf(filter)) break;
    before = items.at(-1)?.seq;
  }
  return Promise.all(matchingItems.slice(0, limit).map((item) => reportProgress(agent, item)));
}

function matchesFilter({ state, principal, session }: TurnFilter, turn: TurnStatus): boolean {
  if (state !== undefined && turn.state !== state) return false;
  if (principal !== null && turn.principal !== principal) return false;
  return session === null || turn.sessionId === session;
}

/** The store cannot select by principal, so a scan by principal reads larger pages. */
const pageSizeOf = ({ principal, limit }: TurnFilter): number =>
  principal === null ? limit : MAX_SCANNED;

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
