/** Routes for sessions and their transcripts. */
import type { ChatMessage } from "portico/provider";
import { limitIn } from "portico/strings";
import type { Session, StoredMessage } from "portico/store";
import type { AgentContext } from "../context.ts";
import { iso } from "../queue/status.ts";
import { errors } from "../errors.ts";
import { agentRoutes } from "./routes-schema.ts";

export function mountSessions(agent: AgentContext): void {
  const { ctx } = agent;
  ctx.route("GET", "/sessions", agentRoutes.sessions, async ({ query }) => {
    const prefix = query.get("prefix");
    const sessions = await agent
      .store()
      .sessions.list({ limit: limitIn(query, 50), prefix: prefix ?? undefined });
    return { sessions: sessions.map(toPublicSession) };
  });
  ctx.route("GET", "/sessions/:id", agentRoutes.session, async ({ params, query }) => {
    const id = params["id"] ?? "";
    const session = await agent.store().sessions.get(id);
    if (session === undefined) throw errors.unknownSession({ id });
    const last = query.has("last") ? limitIn(query, 50, "last") : undefined;
    const transcript = await agent.store().sessions.transcript(id, { last });
    return { ...toPublicSession(session), messages: transcript.map(toPublicMessage) };
  });
  ctx.route("DELETE", "/sessions/:id", agentRoutes.deleteSession, async ({ params }) => {
    const id = params["id"] ?? "";
    if (!(await agent.store().sessions.delete(id))) throw errors.unknownSession({ id });
    void ctx.emit("session:deleted", { sessionId: id }, { sessionKey: id, principal: "owner" });
    return { ok: true, id };
  });
}

function toPublicSession(session: Session) {
  const { id, createdAt, updatedAt, messages, meta } = session;
  const { summaryUpTo: _summaryUpTo, ...publicMeta } = meta;
  return {
    id,
    createdAt: iso(createdAt),
    updatedAt: iso(updatedAt),
    messageCount: messages,
    ...publicMeta,
  };
}

function toPublicMessage({ seq, at, turnId, body }: StoredMessage) {
  return { seq, at: iso(at), turnId, ...(body as ChatMessage) };
}
