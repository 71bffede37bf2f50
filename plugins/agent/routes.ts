/** The agent over HTTP. */
import { type Call, compile, openSse, PorticoError } from "portico";
import type { AgentService } from "portico/agent";
import type { ChatMessage } from "portico/chat";
import type { Session, StoredMessage, WorkItem } from "portico/store";
import { parseCommand, runCommand } from "./commands.ts";
import { MAIN_SESSION, type AgentContext } from "./context.ts";
import type { ListenToAttempts, Progress } from "./turns/progress.ts";
import { agentRequest } from "./schema.ts";
import { iso, turnStatus } from "./turns/status.ts";
import { received, type TurnBody } from "./turns/turn.ts";
import type { Worker } from "./turns/worker.ts";

interface RouteParts {
  agent: AgentContext;
  service: AgentService;
  worker: Worker;
  progress: Progress;
}

const owner = { access: "gateway" } as const;

export function mountRoutes({ agent, service, worker, progress }: RouteParts): void {
  const { ctx } = agent;
  const check = compile(agentRequest);

  ctx.route("POST", "/agent", { ...owner, summary: "Start a turn" }, async (call) => {
    const { wait, stream, session = MAIN_SESSION, ...request } = await call.json(check);
    const source = call.req.headers["x-portico-source"] === "cli" ? "cli" : "http";
    agent.settings(request.agent);
    const body: TurnBody = await received(agent, session, { ...request, source });
    const command = body.reply === undefined ? parseCommand(body.message) : undefined;
    if (command) {
      const result = await runCommand({ agent, service, worker }, command, session, source);
      return { status: 200, message: result, sessionId: session, command: command.name, result };
    }
    const { turnId, item } = service.turnItem({ ...body, session });
    if (stream) return streamTurn(call, turnId, session, () => agent.store().enqueue({ items: [item] }));
    await agent.store().enqueue({ items: [item] });
    if (!wait) return { status: 200, message: "The turn has started.", sessionId: session, turnId };
    return service.endOf(await service.waitFor(turnId, { signal: call.signal }));
  });

  async function streamTurn(
    call: Call,
    turnId: string,
    sessionId: string,
    start: () => Promise<unknown>,
  ): Promise<void> {
    const early: [text: string, attempt: number][] = [];
    let listen: ListenToAttempts = (...piece) => early.push(piece);
    const undo = [progress.onDelta(turnId, (...piece) => listen(...piece))];
    try {
      await start();
      const sse = openSse(call, { endOnClose: false });
      sse.send("turn", { turnId, sessionId });
      let heard = 0;
      listen = (text, attempt) => {
        if (heard !== 0 && heard !== attempt) sse.send("attempt", { attempt });
        heard = attempt;
        sse.send("delta", { text });
      };
      for (const piece of early) listen(...piece);
      undo.push(
        ctx.onAny((event) => {
          if (event.name !== "agent:tool") return;
          const { turnId: of, tool, ok, ms } = event.context;
          if (of === turnId) sse.send("tool", { tool, ok, ms });
        }),
      );
      const status = await service.waitFor(turnId, { signal: call.signal }).catch(() => undefined);
      // an attempt that another gateway has made was not heard here
      if (status?.result && heard !== status.attempts) listen(status.result, status.attempts);
      if (status) sse.send("end", status);
      sse.close();
    } finally {
      for (const each of undo) void each();
    }
  }

  ctx.route("GET", "/turns/:id", owner, async ({ params }) => {
    return (await service.turn(params["id"] ?? "")) ?? notFound("turn", params["id"]);
  });
  ctx.route("GET", "/turns", owner, async ({ query }) => {
    const state = query.get("state");
    const session = query.get("session");
    const items = await agent.store().items.list({
      kind: "turn",
      state: isState(state) ? state : undefined,
      lane: session ?? undefined,
      limit: limitOf(query),
    });
    return { turns: items.map((item) => turnStatus(item as WorkItem<TurnBody>)) };
  });
  ctx.route("POST", "/turns/:id/cancel", owner, async ({ params }) => {
    if (!(await service.turn(params["id"] ?? ""))) notFound("turn", params["id"]);
    return { ok: await service.cancel(params["id"] ?? "") };
  });
  ctx.route("POST", "/turns/:id/replay", owner, async ({ params }) => {
    if (!(await service.turn(params["id"] ?? ""))) notFound("turn", params["id"]);
    if (await agent.store().items.replay(params["id"] ?? "")) return { ok: true };
    throw new PorticoError("conflict", "Only a dead or cancelled turn can be replayed.");
  });

  ctx.route("GET", "/sessions", owner, async ({ query }) => {
    const prefix = query.get("prefix");
    const sessions = await agent.store().sessions.list({ limit: limitOf(query), prefix: prefix ?? undefined });
    return { sessions: sessions.map(shownSession) };
  });
  ctx.route("GET", "/sessions/:id", owner, async ({ params, query }) => {
    const id = params["id"] ?? "";
    const session = (await agent.store().sessions.get(id)) ?? notFound("session", id);
    const last = query.get("last");
    const transcript = await agent
      .store()
      .sessions.transcript(id, { last: last === null ? undefined : Number(last) || 50 });
    return { ...shownSession(session), messages: transcript.map(shownMessage) };
  });
  ctx.route("DELETE", "/sessions/:id", owner, async ({ params }) => {
    const id = params["id"] ?? "";
    if (!(await agent.store().sessions.delete(id))) notFound("session", id);
    void ctx.emit("session:deleted", { sessionId: id }, { sessionKey: id });
    return { ok: true, id };
  });

  ctx.route("POST", "/heartbeat", owner, async () => {
    const turn = await service.heartbeat("manual");
    return turn
      ? { status: 200, message: "The heartbeat has started.", turnId: turn.turnId }
      : { status: 200, message: "Nothing is queued and HEARTBEAT.md is empty: nothing to do.", turnId: null };
  });
}

function shownSession(session: Session) {
  const { id, createdAt, updatedAt, messages, meta } = session;
  const { summaryUpTo: _summaryUpTo, ...shown } = meta;
  return { id, createdAt: iso(createdAt), updatedAt: iso(updatedAt), messageCount: messages, ...shown };
}

function shownMessage({ seq, at, turnId, body }: StoredMessage) {
  return { seq, at: iso(at), turnId, ...(body as ChatMessage) };
}

function limitOf(query: URLSearchParams): number {
  return Number(query.get("limit")) || 50;
}

const STATES = ["queued", "running", "held", "done", "dead", "cancelled"] as const;
function isState(text: string | null): text is (typeof STATES)[number] {
  return STATES.some((state) => state === text);
}

function notFound(what: string, id: string | undefined): never {
  throw new PorticoError("not_found", `There is no ${what} ${id ?? ""}.`);
}
