/** The tool `sessions`, with which the agent lists and reads other sessions and sends messages to them. */
import { type PluginContext, type ToolCall, Type } from "portico";
import type { AgentService } from "portico/agent";
import { clip, fitsPattern } from "portico/strings";
import type { ChatMessage } from "portico/provider";
import type { Session, Store } from "portico/store";
import { errors } from "./errors.ts";
import { requireParam } from "./files/tool.ts";

const SOURCE = "sessions";
const MESSAGE_CHARS = 4_000;
/** The number of sessions that are compared with a pattern that is more than a prefix. */
const MAX_SEARCHED = 1_000;

const parameters = Type.Object({
  action: Type.Union([Type.Literal("list"), Type.Literal("history"), Type.Literal("send")]),
  session: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 256,
      description: "For history and send: the id of the session",
    }),
  ),
  message: Type.Optional(
    Type.String({ minLength: 1, description: "For send: a task for the agent in that session" }),
  ),
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 200,
      description: "For list and history: the number of sessions or messages (default: 20)",
    }),
  ),
});

export function addSessions(ctx: PluginContext, isSandboxed: () => boolean): void {
  ctx.tool({
    name: "sessions",
    description:
      "Conversations of this agent. list shows all sessions, most recently used first. history shows the messages of a session. send starts a turn in another session, whose response appears in the history of that session.",
    parameters,
    principals: ["key", "webhook", "poll"],
    ownErrors: true,
    async handler(args, call) {
      const store = ctx.use("store");
      const reach = reachOf(call, isSandboxed());
      const { limit = 20 } = args;
      if (args.action === "list")
        return (await listNewest(store, reach, limit)).map(({ id, messages, updatedAt }) => ({
          session: id,
          messages,
          usedAt: new Date(updatedAt).toISOString(),
        }));
      const session = requireParam(args.session, "session", args.action);
      if (!reach.includes(session)) throw unknownSession(session);
      if (args.action === "history") return readHistory(store, session, limit);
      return sendMessage(
        ctx.use("agent"),
        session,
        requireParam(args.message, "message", "send"),
        call,
      );
    },
  });
}

/** Returns the sessions within reach, most recently used first. */
async function listNewest(store: Store, reach: Reach, limit: number): Promise<Session[]> {
  const lists = await Promise.all(
    reach.patterns.map(async (pattern) => {
      const star = pattern.indexOf("*");
      if (star < 0) return [await store.sessions.get(pattern)];
      return listMatching(store, pattern, pattern.slice(0, star), limit);
    }),
  );
  const byId = new Map(lists.flat().flatMap((session) => (session ? [[session.id, session]] : [])));
  return [...byId.values()].sort((a, b) => b.updatedAt - a.updatedAt).slice(0, limit);
}

/** The store selects by prefix only, so the rest of a pattern is matched here. */
async function listMatching(
  store: Store,
  pattern: string,
  prefix: string,
  limit: number,
): Promise<Session[]> {
  const isPrefix = pattern === `${prefix}*`;
  const storeLimit = isPrefix ? limit : MAX_SEARCHED;
  const sessions = await store.sessions.list({ limit: storeLimit, prefix: prefix || undefined });
  return sessions.filter(({ id }) => fitsPattern(pattern, id));
}

async function readHistory(store: Store, session: string, last: number) {
  if ((await store.sessions.get(session)) === undefined) throw unknownSession(session);
  const storedMessages = await store.sessions.transcript(session, { last });
  return storedMessages.map(({ at, body }) => {
    const { role, content, tool_calls: calls } = body as ChatMessage;
    const parts = typeof content === "string" ? [{ text: content }] : (content ?? []);
    return {
      at: new Date(at).toISOString(),
      role,
      text: clip(parts.map(({ text = "" }) => text).join(""), MESSAGE_CHARS),
      calls: calls?.map((call) => call.function?.name),
    };
  });
}

async function sendMessage(agent: AgentService, session: string, message: string, call: ToolCall) {
  const { sessionKey, turnId, principal, access } = call;
  if (session === sessionKey) throw errors.sendToItself({ param: "session" });
  if (!access.isOwner) throw errors.mayNotSend({ param: "action" });
  // Two sessions that send to each other would never end.
  if (turnId !== undefined && (await agent.turn(turnId))?.source === SOURCE)
    throw errors.sendFromSent({ param: "action" });
  const turn = await agent.startTurn({
    message: `[from your session ${sessionKey}] ${message}`,
    session,
    source: SOURCE,
    principal,
  });
  return { turnId: turn.turnId, session: turn.sessionId, state: turn.state };
}

const unknownSession = (session: string) =>
  errors.unknownSession({ session: JSON.stringify(session) });

/** The sessions that a call may see. */
interface Reach {
  patterns: readonly string[];
  includes(session: string): boolean;
}

/** A sandboxed session sees only itself. Every turn sees the session in which it runs. */
function reachOf({ sessionKey, access }: ToolCall, isSandboxed: boolean): Reach {
  if (isSandboxed) return { patterns: [sessionKey], includes: (session) => session === sessionKey };
  return {
    patterns: [sessionKey, ...access.sessions],
    includes: (session) => session === sessionKey || access.maySeeSession(session),
  };
}
