/** `message:sending` and `message:streaming`: what handlers change in the text of a turn before the gateway stores or sends it. */
import type { HandlerSelection } from "portico";
import { newId } from "../ids.ts";
import type { ChatMessage } from "portico/provider";
import type { AgentContext } from "../context.ts";
import { isSilent } from "./checklist.ts";
import type { TurnBody } from "./turn-body.ts";

interface Answer {
  /** The final answer. */
  content: string;
  model: string;
  /** The answer is the last one. */
  messages: ChatMessage[];
}

/**
 * True where a handler judges the whole answer, so that nothing of it may go out before. The answer of a chat completion
 * that a hook or a plugin asked for does not leave the gateway.
 */
export function isOffered({ ctx }: AgentContext, body: TurnBody): boolean {
  const leaves = body.chat === undefined || body.chat.leaves === true;
  return leaves && ctx.hasHandlers("message:sending", selectionFor(body));
}

/** A stream is held only for handlers that do not judge it piece by piece. */
export const selectionFor = ({ stream }: Pick<TurnBody, "stream">): HandlerSelection =>
  stream === true ? { unlessOwnerHandles: "message:streaming" } : {};

/** Returns the text that replaces this one. `final`: the stream ends with it. */
export type Edit = (text: string, final: boolean) => Promise<string>;

/** Makes an editor for each stream; undefined if nothing is streamed, or no hook edits it. */
export function editing(
  { ctx }: AgentContext,
  sessionId: string,
  body: TurnBody,
  model: string,
): (() => Edit) | undefined {
  if (body.stream !== true || !ctx.hasHandlers("message:streaming")) return undefined;
  return () => {
    const streamId = newId("stream");
    return async (text, final) => {
      const context = { streamId, text, final, source: body.source, model };
      const { principal } = body;
      const result = await ctx.emit("message:streaming", context, {
        sessionKey: sessionId,
        principal,
      });
      if (result.refusal) throw result.refusal;
      return String(result.context.text);
    };
  };
}

/** The answer with its text as handlers leave it. Throws `blocked_by_hook` and `hook_unavailable`. */
export async function offered<T extends Answer>(
  agent: AgentContext,
  sessionId: string,
  body: TurnBody,
  answer: T,
): Promise<T> {
  const { content, model, messages } = answer;
  if (content === "" || !isOffered(agent, body)) return answer;
  // A heartbeat with nothing to report sends nothing.
  if (body.heartbeat !== undefined && isSilent(content)) return answer;
  const result = await agent.ctx.emit(
    "message:sending",
    { content, source: body.source, model, to: sessionId },
    { sessionKey: sessionId, principal: body.principal, ...selectionFor(body) },
  );
  if (result.refusal) throw result.refusal;
  // Handlers in JavaScript have no compiler that checks the values that they write.
  const changed: unknown = result.context.content;
  if (typeof changed !== "string" || changed === content) return answer;
  const last: ChatMessage = { role: "assistant", content: changed };
  return { ...answer, content: changed, messages: [...messages.slice(0, -1), last] };
}
