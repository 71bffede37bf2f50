/** What is written of a turn's end, and who is told. */
import { PorticoError, type Principal } from "portico";
import { Stopped } from "portico/schedules";
import { deliveryItem } from "portico/deliveries";
import type { Batch, Claim, ClaimOutcome, NewItem, NewMessage } from "portico/store";
import { type AgentContext, MAIN_SESSION, shownError } from "../context.ts";
import { isSilent } from "../turns/checklist.ts";
import type { TracedStep } from "portico/agent";
import type { LoopPause } from "../turns/loop.ts";
import type { TurnEnd } from "../turns/turn-end.ts";
import type { Access } from "../access/access.ts";
import { fence } from "../turns/fence.ts";
import { waitingMark } from "./decisions.ts";
import { outcomeOf } from "./outcome.ts";
import { principalOfTurn } from "./principal-of.ts";
import type { Progress } from "../turns/progress.ts";
import { iso } from "./status.ts";
import type { TurnBody } from "../turns/turn-body.ts";

const FINISH_TRIES = 30;
const FINISH_PAUSE_MS = 1000;

interface Completed {
  access: Pick<Access, "mayAnnounce">;
  /** For the session. */
  meta: Record<string, unknown> | undefined;
  followUp: NewItem[];
  ms: number;
  trace: TracedStep[];
}

export function createEnding(agent: AgentContext, progress: Progress) {
  const { ctx } = agent;

  /** A heartbeat that had nothing to do. */
  async function nothing(claim: Claim<TurnBody>): Promise<void> {
    await finish(claim, { state: "done", result: { text: "", steps: 0 } });
  }

  async function completed(
    claim: Claim<TurnBody>,
    body: TurnBody,
    end: TurnEnd,
    about: Completed,
  ): Promise<void> {
    const { item } = claim;
    const beat = body.heartbeat !== undefined;
    const silent = beat && isSilent(end.text);
    const text = silent ? "" : end.text;
    const isAsked = body.delivery === "announce" && item.lane !== MAIN_SESSION;
    const announced = text !== "" && (beat || (isAsked && about.access.mayAnnounce));
    const { principal } = body;
    const from = { source: body.source, turnId: item.id, sessionId: item.lane, principal };
    const kept = silent && (body.untrusted ?? []).length === 0 ? [] : end.messages;
    const batch: Batch = {
      messages: [
        {
          session: item.lane,
          messages: toStored(kept, item.id),
          meta: { ...about.meta, ...metaOf(body) },
        },
        ...(announced && !beat ? [announcement(text, from)] : []),
      ],
      items: [
        ...about.followUp,
        ...deliveryOf(claim, "turn.completed", { result: text, model: end.model }),
      ],
    };
    const { steps, model, usage, ended } = end;
    progress.callerOf(item.id)?.settle({ end });
    const outcome = {
      state: "done",
      result: { text, model, steps, usage, ended, trace: about.trace },
      body: bodyToKeep(body),
    } as const;
    if (!(await finish(claim, outcome, batch))) return;
    const sessionKey = item.lane;
    // of a chat completion the endpoint tells
    if (text !== "" && !body.chat)
      void ctx.emit(
        "message:sent",
        { content: text, source: body.source, model, to: sessionKey },
        { sessionKey, principal },
      );
    const { prompt_tokens, completion_tokens, total_tokens } = usage;
    void ctx.emit(
      "agent:completed",
      {
        ...namesOf(claim, body),
        content: text,
        model,
        steps,
        attempts: item.attempts,
        usage: { prompt_tokens, completion_tokens, total_tokens },
        ms: about.ms,
      },
      { sessionKey, principal },
    );
    if (announced) {
      const { source, turnId, sessionId } = from;
      void ctx.emit(
        "agent:announced",
        { content: text, source, turnId, sessionId },
        { sessionKey: MAIN_SESSION, principal },
      );
    }
  }

  /** It goes on when the owner has decided; where it only keeps what it has done so far, at once. */
  async function paused(
    claim: Claim<TurnBody>,
    body: TurnBody,
    { until, asked }: LoopPause,
    meta: Record<string, unknown> | undefined,
  ): Promise<void> {
    const { item } = claim;
    const now = agent.store().now();
    const batch: Batch = {
      messages: meta === undefined ? [] : [{ session: item.lane, messages: [], meta }],
      kv: until === undefined ? [] : [waitingMark(item.id, until - now)],
    };
    if (!(await finish(claim, { state: "paused", at: until ?? now, body }, batch))) return;
    for (const { callId, tool, arguments: args, until: end } of asked) {
      void ctx.emit(
        "agent:confirm",
        { ...namesOf(claim, body), callId, tool, arguments: args, until: end },
        { sessionKey: item.lane, principal: body.principal },
      );
    }
  }

  async function failed(
    claim: Claim<TurnBody>,
    body: TurnBody,
    reason: unknown,
    trace: TracedStep[],
  ): Promise<void> {
    const { item } = claim;
    const stopped = reason instanceof Stopped ? reason.why : undefined;
    if (stopped === "lost") {
      ctx.log.warn({ turn: item.id }, "another worker has taken this turn over");
      return;
    }
    const error = stopped
      ? { code: stopped, message: `The turn was stopped (${stopped}).` }
      : shownError(reason);
    if (!stopped)
      ctx.log.warn({ err: reason, turn: item.id, attempt: item.attempts }, "turn failed");
    progress.callerOf(item.id)?.settle({ error: stopped ? stoppedError(stopped) : reason });
    const outcome = outcomeOf(item, reason, error, {
      now: agent.store().now(),
      retryDelayMs: agent.defaults().retryDelayMs,
      trace,
    });
    // nothing more is kept where there is no room
    const isTold =
      error.code === "storage_full" ||
      outcome.state === "retry" ||
      body.heartbeat !== undefined ||
      body.chat !== undefined;
    const note = {
      session: item.lane,
      messages: failureNote(body, error, item.id),
      meta: metaOf(body),
    };
    const batch: Batch = {
      messages: isTold ? [] : [note],
      items: outcome.state === "retry" ? [] : deliveryOf(claim, "turn.failed", { error }),
    };
    if (!(await finish(claim, outcome, batch)) || stopped) return;
    void ctx.emit(
      "agent:failed",
      {
        ...namesOf(claim, body),
        error,
        attempts: item.attempts,
        willRetry: outcome.state === "retry",
        retryAt: outcome.state === "retry" ? iso(outcome.at) : undefined,
      },
      { sessionKey: item.lane, principal: body.principal },
    );
  }

  /**
   * False where the turn is somebody else's by now, or could not be written: then its lease runs out and it is repeated.
   * What the turn did cannot be undone, so a store that fails for a moment is waited for first.
   */
  async function finish(
    claim: Claim<TurnBody>,
    outcome: ClaimOutcome,
    batch?: Batch,
  ): Promise<boolean> {
    for (let tries = 1; ; tries++) {
      try {
        const owned = await agent.store().finish(claim, outcome, batch);
        if (!owned)
          ctx.log.warn(
            { turn: claim.item.id },
            "the end of this turn was refused: another worker has it",
          );
        return owned;
      } catch (error) {
        if (shownError(error).code !== "store_unavailable" && batch !== undefined) {
          // an end that can never be written must not be tried for ever
          ctx.log.error({ err: error, turn: claim.item.id }, "the end of a turn cannot be written");
          return finish(claim, { state: "dead", error: shownError(error) });
        }
        if (tries === FINISH_TRIES || ctx.signal.aborted) {
          ctx.log.error(
            { err: error, turn: claim.item.id },
            "the end of a turn could not be written; it will be repeated",
          );
          return false;
        }
        await new Promise((resolve) => setTimeout(resolve, FINISH_PAUSE_MS));
      }
    }
  }

  return { nothing, completed, paused, failed };
}

/** The messages of a chat completion, and of a turn that had paused, are in its session by then. */
function bodyToKeep(body: TurnBody): TurnBody | undefined {
  if (body.chat === undefined && body.paused === undefined) return undefined;
  return { ...body, chat: undefined, paused: undefined };
}

function metaOf(body: TurnBody): Record<string, unknown> {
  // one that somebody names later is kept
  return {
    agent: body.agent ?? "main",
    source: body.source,
    principal: body.principal,
    temporary: body.temporary === true ? true : null,
  };
}

function namesOf({ item }: Claim<TurnBody>, body: TurnBody) {
  const { agent: agentId = "main", source, context } = body;
  return { turnId: item.id, sessionId: item.lane, agentId, source, context };
}

/** What is posted of a turn's end, where somebody is to be told. */
function deliveryOf(
  { item }: Claim<TurnBody>,
  type: string,
  end: Record<string, unknown>,
): NewItem[] {
  const { delivery, source } = item.body;
  if (typeof delivery !== "object") return [];
  const data = { turnId: item.id, sessionId: item.lane, source, ...end };
  const message = { type, timestamp: new Date().toISOString(), data };
  return [deliveryItem(item.id, delivery, message, principalOfTurn(item))];
}

function stoppedError(why: Stopped["why"]): PorticoError {
  if (why === "cancelled")
    return new PorticoError("cancelled", "The turn was stopped.", { status: 409 });
  return new PorticoError("service_unavailable", "The gateway is stopping: ask again in a moment.");
}

function toStored(messages: readonly { role: string }[], turnId: string): NewMessage[] {
  return messages.map((message) => ({ role: message.role, body: message, turnId }));
}

/** A turn that came to nothing shows in its session. */
function failureNote(body: TurnBody, error: { message: string }, turnId: string): NewMessage[] {
  const said = `[This turn ended without an answer: ${error.message}]`;
  const messages: { role: string; content: string }[] = [
    { role: "user", content: body.message },
    { role: "assistant", content: said },
  ];
  return toStored(messages, turnId);
}

interface Announced {
  source: string;
  principal?: Principal | undefined;
  sessionId?: string | undefined;
  turnId?: string | undefined;
}

/**
 * The message that posts a result to the main session. The result of a turn that is not the owner's comes from outside, so
 * it never appears there as the agent's own words.
 */
export function announcement(text: string, from: Announced) {
  const { turnId, principal, sessionId = from.source } = from;
  const isOwners = principal === "owner";
  const role = isOwners ? "assistant" : "user";
  const content = isOwners
    ? `[${sessionId}] ${text}`
    : `An event from outside: the result of ${sessionId}.\n\n${fence(sessionId, text)}`;
  return { session: MAIN_SESSION, messages: [{ role, body: { role, content }, turnId }] };
}
