/** The agent's view of other conversations: which there are, what was said in them, and a word to one of them. */
import { type PluginContext, PorticoError, type ToolCall, Type } from "portico";
import { clip } from "portico/strings";
import type { ChatMessage } from "portico/chat";
import type { Session } from "portico/store";
import { needed } from "./files/tool.ts";

const SOURCE = "sessions";
const MESSAGE_CHARS = 4_000;

const parameters = Type.Object({
  action: Type.Union([Type.Literal("list"), Type.Literal("history"), Type.Literal("send")]),
  session: Type.Optional(
    Type.String({ minLength: 1, maxLength: 256, description: "for history and send" }),
  ),
  message: Type.Optional(
    Type.String({ minLength: 1, description: "send: a task for the agent in that session" }),
  ),
  limit: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 200, description: "list, history: how many; default 20" }),
  ),
});

export function addSessions(ctx: PluginContext, isSandboxed: () => boolean): void {
  const store = () => ctx.use("store");
  ctx.tool({
    name: "sessions",
    description:
      "Conversations of this agent. list: which there are, last used first. history: what was said in one. send: starts a turn in another one, whose answer shows in its history.",
    parameters,
    async handler(args, call) {
      const reach = reachOf(call, isSandboxed());
      const { limit = 20 } = args;
      if (args.action === "list") {
        return (await within(reach, limit)).map(({ id, messages, updatedAt }) => ({
          session: id,
          messages,
          usedAt: new Date(updatedAt).toISOString(),
        }));
      }
      const session = needed(args.session, "session", args.action);
      if (!reaches(reach, session)) throw noSession(session);
      if (args.action === "history") return history(session, limit);
      return send(session, needed(args.message, "message", "send"), call);
    },
  });

  /** Last used first. */
  async function within({ own, below }: Reach, limit: number): Promise<Session[]> {
    const { sessions } = store();
    if (own === undefined) return sessions.list({ limit });
    const one = await sessions.get(own);
    const more = below === undefined ? [] : await sessions.list({ limit, prefix: below });
    const all = one ? [one, ...more] : more;
    return all.sort((a, b) => b.updatedAt - a.updatedAt).slice(0, limit);
  }

  async function history(session: string, last: number) {
    if ((await store().sessions.get(session)) === undefined) throw noSession(session);
    const stored = await store().sessions.transcript(session, { last });
    return stored.map(({ at, body }) => {
      const { role, content, tool_calls: calls } = body as ChatMessage;
      const text =
        typeof content === "string"
          ? content
          : (content ?? []).map((part) => part.text ?? "").join("");
      return {
        at: new Date(at).toISOString(),
        role,
        text: clip(text, MESSAGE_CHARS),
        calls: calls?.map((one) => one.function?.name),
      };
    });
  }

  async function send(session: string, message: string, { sessionKey, turnId }: ToolCall) {
    if (session === sessionKey)
      throw refused("That is this session itself: just answer.", "session");
    if (isOthers(sessionKey))
      throw refused("A session of a client or a sender starts no turns elsewhere.", "action");
    const agent = ctx.use("agent");
    // two that send to each other would never end
    if (turnId !== undefined && (await agent.turn(turnId))?.source === SOURCE)
      throw refused(
        "This turn was itself sent from another session: its answer is read there.",
        "action",
      );
    const started = await agent.startTurn({
      message: `[from your session ${sessionKey}] ${message}`,
      session,
      source: SOURCE,
    });
    return { turnId: started.turnId, session: started.sessionId, state: started.state };
  }
}

const refused = (message: string, param: string) =>
  new PorticoError("invalid_request_error", message, { param });
const noSession = (session: string) =>
  new PorticoError("not_found", `There is no session ${JSON.stringify(session)}.`);

/** A client key's (`key:<name>:…`), or one that something from outside runs in. */
const isOthers = (session: string): boolean => /^(key|webhook|poll):/.test(session);

/** What a call may see: the session of this name and those whose names begin so; without a name, all. */
interface Reach {
  own?: string;
  below?: string;
}

/** A client's or sender's call sees its own kind: `key:ann` and `key:ann:…`, not `key:anna:…`; a sandboxed one only itself. */
function reachOf({ sessionKey }: ToolCall, sandboxed: boolean): Reach {
  if (sandboxed) return { own: sessionKey };
  const kind = sessionKey.split(":").slice(0, 2).join(":");
  return isOthers(sessionKey) ? { own: kind, below: `${kind}:` } : {};
}

const reaches = ({ own, below }: Reach, session: string): boolean =>
  own === undefined || session === own || (below !== undefined && session.startsWith(below));
