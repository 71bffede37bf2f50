/**
 * Lets handlers of `message:sending` and `message:streaming` change the text of a turn before the gateway stores or
 * sends it.
 */
import type { HandlerSelection } from "portico";
import { newId } from "../ids.ts";
import type { ChatMessage } from "portico/provider";
import type { AgentContext } from "../context.ts";
import { isSilent } from "./checklist.ts";
import type { TurnBody } from "./turn-body.ts";

interface FinalResponse {
  /** The text of the final response. */
  content: string;
  model: string;
  /** The last message is the response. */
  messages: ChatMessage[];
}

/**
 * Returns true if a handler must see the whole response before any of it is sent. The response to a chat completion
 * that a hook or a plugin requested does not leave the gateway, so no handler sees it.
 */
export function hasSendingHandler({ ctx }: AgentContext, body: TurnBody): boolean {
  const leaves = body.chat === undefined || body.chat.leaves === true;
  return leaves && ctx.hasHandlers("message:sending", selectionFor(body));
}

/** A stream is held back only for handlers whose owner does not also handle `message:streaming`. */
export const selectionFor = ({ stream }: Pick<TurnBody, "stream">): HandlerSelection =>
  stream === true ? { unlessOwnerHandles: "message:streaming" } : {};

/** Returns the replacement for a piece of text. `final`: it is the last piece of the stream. */
export type Edit = (text: string, final: boolean) => Promise<string>;

/** Returns a function that creates an editor for each stream; undefined if nothing is streamed, or no hook edits it. */
export function createEditor(
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

/** Returns the response with the text that handlers made of it. Throws `blocked_by_hook` and `hook_unavailable`. */
export async function applySendingHandlers<T extends FinalResponse>(
  agent: AgentContext,
  sessionId: string,
  body: TurnBody,
  response: T,
): Promise<T> {
  const { content, model, messages } = response;
  if (content === "" || !hasSendingHandler(agent, body)) return response;
  // A heartbeat with nothing to report sends nothing.
  if (body.heartbeat !== undefined && isSilent(content)) return response;
  const result = await agent.ctx.emit(
    "message:sending",
    { content, source: body.source, model, to: sessionId },
    { sessionKey: sessionId, principal: body.principal, ...selectionFor(body) },
  );
  if (result.refusal) throw result.refusal;
  // Handlers may be plain JavaScript, so the type of the value is not certain.
  const newContent: unknown = result.context.content;
  if (typeof newContent !== "string" || newContent === content) return response;
  const last: ChatMessage = { role: "assistant", content: newContent };
  return { ...response, content: newContent, messages: [...messages.slice(0, -1), last] };
}
