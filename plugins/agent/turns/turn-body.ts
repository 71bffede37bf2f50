/** A turn as the store holds it, and the changes of `message:received` handlers to it. */
import { exactJson } from "portico";
import type { TurnRequest } from "portico/agent";
import type { ChatMessage } from "portico/provider";
import type { NewItem } from "portico/store";
import type { AgentContext } from "../context.ts";
import type { LoopState } from "./loop-state.ts";

export interface TurnBody extends Omit<TurnRequest, "turnId" | "session"> {
  /** A heartbeat, and why it was started. */
  heartbeat?: string;
  /** A hook has answered already: no model is asked. */
  reply?: string | undefined;
  /** What hooks have to say beside the answer. */
  notes?: string[];
  /** Its caller reads a stream: its text goes through `message:streaming`, on whichever gateway it runs. */
  stream?: boolean | undefined;
  /** A chat completion of the models `agent` and `agent/<id>`. */
  chat?: ChatTurn | undefined;
  /** It has paused: what it has done so far. */
  paused?: PausedTurn | undefined;
}

interface PausedTurn {
  loop: LoopState;
  /** The user message, as the model has seen it. */
  prompt: ChatMessage;
  /** Of a heartbeat: what goes into the queue with its end. */
  followUp: NewItem[];
}

interface ChatTurn {
  /** The caller's messages but the last one of the user: what the turn takes for the session's history. */
  history: ChatMessage[];
  /** That last message, unchanged, with its images. */
  prompt: ChatMessage;
  /** Of the caller's: `temperature`, `max_tokens`, … */
  parameters: Record<string, unknown>;
  /** The worker process whose caller waits. If it is dead, no caller is left for the turn. */
  caller: string;
  /** Its answer leaves the gateway. */
  leaves?: boolean | undefined;
}

/** `message:received` for a turn that has not been announced yet; the body with what handlers changed. Throws `blocked_by_hook` and `hook_unavailable`. */
export async function received(
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

/** What handlers made of the words: those from outside stay in their fence. */
function contentOf(body: TurnBody, content: string | undefined): Partial<TurnBody> {
  if (content === undefined || content === (body.content ?? body.message)) return {};
  if (body.content === undefined) return { message: content };
  return {
    content,
    untrusted: [{ label: body.untrusted?.[0]?.label ?? body.source, text: content }],
  };
}
