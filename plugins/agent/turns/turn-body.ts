/** The stored body of a turn, and the changes that handlers of `message:received` make to it. */
import { exactJson } from "portico";
import type { TurnRequest } from "portico/agent";
import type { ChatMessage } from "portico/provider";
import type { NewItem } from "portico/store";
import type { AgentContext } from "../context.ts";
import type { LoopState } from "./loop-state.ts";

export interface TurnBody extends Omit<TurnRequest, "turnId" | "session"> {
  /** For a heartbeat: the reason for which it was started. */
  heartbeat?: string;
  /** The response of a hook. If it is set, no model is asked. */
  reply?: string | undefined;
  /** Messages of hooks in addition to the response. */
  notes?: string[];
  /**
   * True if the caller reads a stream. The text then goes through `message:streaming`, regardless of the gateway on
   * which the turn runs.
   */
  stream?: boolean | undefined;
  /** Set for a chat completion of the models `agent` and `agent/<id>`. */
  chat?: ChatTurn | undefined;
  /** The progress of a paused turn. */
  paused?: PausedTurn | undefined;
}

interface PausedTurn {
  loop: LoopState;
  /** The user message as the model has seen it. */
  prompt: ChatMessage;
  /** Items that a heartbeat enqueues when it ends. */
  followUp: NewItem[];
}

interface ChatTurn {
  /** The caller's messages except the last one of the user. The turn uses them as the history of the session. */
  history: ChatMessage[];
  /** The last message of the user, unchanged, with its images. */
  prompt: ChatMessage;
  /** The caller's parameters: `temperature`, `max_tokens`, … */
  parameters: Record<string, unknown>;
  /** The name of the process to which the caller is connected. If the process is dead, nobody waits for the turn. */
  caller: string;
  /** True if the response leaves the gateway. */
  leaves?: boolean | undefined;
}

/**
 * Emits `message:received` unless it was emitted before. Returns the body with the changes of handlers. Throws
 * `blocked_by_hook` and `hook_unavailable`.
 */
export async function emitReceived(
  { ctx }: AgentContext,
  sessionId: string,
  body: TurnBody,
): Promise<TurnBody> {
  if (body.received || body.heartbeat !== undefined) return body;
  if (!ctx.hasListeners("message:received")) return { ...body, received: true };
  const result = await ctx.emit(
    "message:received",
    {
      content: body.content ?? body.message,
      source: body.source,
      model: body.model,
      metadata: { sessionId, ...(exactJson.toPlain(body.context) as TurnBody["context"]) },
    },
    { sessionKey: sessionId, principal: body.principal },
  );
  if (result.refusal) throw result.refusal;
  const content = result.context.content;
  return {
    ...body,
    received: true,
    ...contentOf(body, typeof content === "string" ? content : undefined),
    reply: result.reply ?? body.reply,
    notes: [...(body.notes ?? []), ...result.messages],
  };
}

/** Applies the text that handlers changed. Text from outside stays in its fence. */
function contentOf(body: TurnBody, content: string | undefined): Partial<TurnBody> {
  if (content === undefined || content === (body.content ?? body.message)) return {};
  if (body.content === undefined) return { message: content };
  return {
    content,
    untrusted: [{ label: body.untrusted?.[0]?.label ?? body.source, text: content }],
  };
}
