/** Writes how a turn ended, and notifies those who wait for it. */
import { exactJson, type PluginContext, type PorticoError, type Principal } from "portico";
import { Stopped } from "portico/schedules";
import { deliveryItem } from "portico/deliveries";
import type { Batch, Claim, ClaimOutcome, NewItem, NewMessage } from "portico/store";
import { type AgentContext, MAIN_SESSION, shownError } from "../context.ts";
import { errors } from "../errors.ts";
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
import type { StepRecorder } from "../turns/step-records.ts";
import { closeTrace } from "../turns/trace.ts";
import { iso } from "./status.ts";
import type { TurnBody } from "../turns/turn-body.ts";

const FINISH_TRIES = 30;
const FINISH_PAUSE_MS = 1000;

/** A turn that has ended with an answer, and what belongs to it. */
interface Completed {
  claim: Claim<TurnBody>;
  body: TurnBody;
  end: TurnEnd;
  access: Pick<Access, "mayAnnounce">;
  /** For the session. */
  meta: Record<string, unknown> | undefined;
  followUp: NewItem[];
  ms: number;
  trace: TracedStep[];
  steps: StepRecorder;
}

/** What an attempt did until it failed. */
interface FailedSteps {
  trace: TracedStep[];
  steps: StepRecorder;
}

/** Writes how turns end, and emits the events of their ends. */
export class Ending {
  readonly #agent: AgentContext;
  readonly #progress: Progress;

  constructor(agent: AgentContext, progress: Progress) {
    this.#agent = agent;
    this.#progress = progress;
  }

  /** Ends a heartbeat that had nothing to do. */
  async nothing(claim: Claim<TurnBody>, steps: StepRecorder): Promise<void> {
    await this.#finish(claim, { state: "done", result: { text: "", steps: 0 } });
    await steps.ended();
  }

  async completed(turn: Completed): Promise<void> {
    const { claim, body, end, trace, steps: recorder } = turn;
    const { failedAttempts } = recorder;
    const { item } = claim;
    const text = textToKeep(turn);
    const isAnnounced = mustAnnounce(turn, text);
    const { steps, model, usage, ended } = end;
    this.#progress.callerOf(item.id)?.settle({ end });
    const outcome = {
      state: "done",
      result: { text, model, steps, usage, ended, trace, failedAttempts },
      body: bodyToKeep(body),
    } as const;
    if (!(await this.#finish(claim, outcome, batchOf(this.#agent.ctx, turn, text, isAnnounced))))
      return recorder.abandon();
    this.#emitCompleted(turn, text, isAnnounced);
    await recorder.ended();
  }

  #emitCompleted({ claim, body, end, ms }: Completed, content: string, isAnnounced: boolean): void {
    const { ctx } = this.#agent;
    const { item } = claim;
    const { principal, source } = body;
    const { steps, model, usage } = end;
    const about = { sessionKey: item.lane, principal };
    // The chat endpoint emits this event for its own completions.
    if (content !== "" && !body.chat)
      void ctx.emit("message:sent", { content, source, model, to: item.lane }, about);
    const { prompt_tokens, completion_tokens, total_tokens } = usage;
    void ctx.emit(
      "agent:completed",
      {
        ...namesOf(claim, body),
        content,
        model,
        steps,
        attempts: item.attempts,
        usage: { prompt_tokens, completion_tokens, total_tokens },
        ms,
      },
      about,
    );
    if (!isAnnounced) return;
    void ctx.emit(
      "agent:announced",
      { content, source, turnId: item.id, sessionId: item.lane },
      { sessionKey: MAIN_SESSION, principal },
    );
  }

  /** Pauses a turn until the owner has decided. A turn that only keeps what it has done goes on at once. */
  async paused(
    claim: Claim<TurnBody>,
    body: TurnBody,
    { until, asked }: LoopPause,
    { meta, steps }: Pick<Completed, "meta" | "steps">,
  ): Promise<void> {
    const { item } = claim;
    const now = this.#agent.store().now();
    const batch: Batch = {
      messages: meta === undefined ? [] : [{ session: item.lane, messages: [], meta }],
      kv: until === undefined ? [] : [waitingMark(item.id, until - now)],
    };
    // Before the turn is free: the process that takes it up reads the record.
    await steps.paused();
    if (!(await this.#finish(claim, { state: "paused", at: until ?? now, body }, batch))) return;
    for (const { callId, tool, arguments: args, until: end } of asked) {
      void this.#agent.ctx.emit(
        "agent:confirm",
        { ...namesOf(claim, body), callId, tool, arguments: args, until: end },
        { sessionKey: item.lane, principal: body.principal },
      );
    }
  }

  async failed(
    claim: Claim<TurnBody>,
    body: TurnBody,
    reason: unknown,
    { trace, steps }: FailedSteps,
  ): Promise<void> {
    const { ctx, store, defaults } = this.#agent;
    const { item } = claim;
    const stopped = reason instanceof Stopped ? reason.why : undefined;
    if (stopped === "lost") {
      ctx.log.warn({ turn: item.id }, "Another worker has taken this turn over.");
      steps.abandon();
      return;
    }
    const error = stopped
      ? { code: stopped, message: `The turn was stopped (${stopped}).` }
      : shownError(reason);
    if (!stopped)
      ctx.log.warn({ err: reason, turn: item.id, attempt: item.attempts }, "A turn failed.");
    const callerError = stopped ? stoppedError(stopped) : reason;
    this.#progress.callerOf(item.id)?.settle({ error: callerError });
    const { retryDelayMs } = defaults();
    const outcome = outcomeOf(item, reason, error, {
      now: store().now(),
      retryDelayMs,
      trace: closeTrace(trace),
      failedAttempts: steps.failedAttempts,
    });
    const willRetry = outcome.state === "retry";
    const batch: Batch = {
      messages: isFailureNoted(body, error, willRetry) ? [failureNote(item, body, error)] : [],
      items: willRetry ? [] : deliveryOf(ctx, claim, "turn.failed", { error }),
    };
    // Before the turn is free: the process that takes it up reads the record.
    if (willRetry) await steps.failed(error);
    const isWritten = await this.#finish(claim, outcome, batch);
    if (!isWritten) steps.abandon();
    if (isWritten && !stopped) this.#emitFailed(claim, body, error, outcome);
    if (isWritten && !willRetry) await steps.ended();
  }

  #emitFailed(
    claim: Claim<TurnBody>,
    body: TurnBody,
    error: ReturnType<typeof shownError>,
    outcome: ClaimOutcome,
  ): void {
    const { item } = claim;
    const willRetry = outcome.state === "retry";
    void this.#agent.ctx.emit(
      "agent:failed",
      {
        ...namesOf(claim, body),
        error,
        attempts: item.attempts,
        willRetry,
        retryAt: outcome.state === "retry" ? iso(outcome.at) : undefined,
      },
      { sessionKey: item.lane, principal: body.principal },
    );
  }

  /**
   * Returns false where another worker has the turn by now, or its end could not be written: then the lease runs out and
   * the turn is repeated. What the turn did cannot be undone, so this waits for a store that fails for a moment.
   */
  async #finish(claim: Claim<TurnBody>, outcome: ClaimOutcome, batch?: Batch): Promise<boolean> {
    const { ctx, store } = this.#agent;
    const turn = claim.item.id;
    for (let tries = 1; ; tries++) {
      try {
        const isOwned = await store().finish(claim, outcome, batch);
        if (!isOwned)
          ctx.log.warn(
            { turn },
            "The end of a turn was refused, because another worker owns the turn.",
          );
        return isOwned;
      } catch (error) {
        if (shownError(error).code !== "store_unavailable" && batch !== undefined) {
          // An end that can never be written must not be tried for ever.
          ctx.log.error({ err: error, turn }, "The end of a turn cannot be written.");
          return this.#finish(claim, { state: "dead", error: shownError(error) });
        }
        if (tries === FINISH_TRIES || ctx.signal.aborted) {
          ctx.log.error(
            { err: error, turn },
            "The end of a turn was not written. It will be repeated.",
          );
          return false;
        }
        await new Promise((resolve) => setTimeout(resolve, FINISH_PAUSE_MS));
      }
    }
  }
}

/** Empty for a heartbeat that found nothing that needs attention. */
function textToKeep({ body, end }: Pick<Completed, "body" | "end">): string {
  return isQuietBeat(body, end) ? "" : end.text;
}

function isQuietBeat(body: TurnBody, end: TurnEnd): boolean {
  return body.heartbeat !== undefined && isSilent(end.text);
}

/** The main session already contains a heartbeat's response, so an announcement only emits the event. */
function mustAnnounce({ claim, body, access }: Completed, text: string): boolean {
  if (text === "") return false;
  if (body.heartbeat !== undefined) return true;
  return body.delivery === "announce" && claim.item.lane !== MAIN_SESSION && access.mayAnnounce;
}

/** What is written together with the end of a completed turn. */
function batchOf(ctx: PluginContext, turn: Completed, text: string, isAnnounced: boolean): Batch {
  const { claim, body, end, meta, followUp } = turn;
  const { id: turnId, lane: sessionId } = claim.item;
  const isEmptyBeat = isQuietBeat(body, end) && (body.untrusted ?? []).length === 0;
  const transcript = {
    session: sessionId,
    messages: toStored(isEmptyBeat ? [] : end.messages, turnId),
    meta: { ...meta, ...metaOf(body) },
  };
  const { source, principal } = body;
  const announced =
    isAnnounced && body.heartbeat === undefined
      ? [announcement(text, { source, turnId, sessionId, principal })]
      : [];
  const delivery = deliveryOf(ctx, claim, "turn.completed", { result: text, model: end.model });
  return { messages: [transcript, ...announced], items: [...followUp, ...delivery] };
}

/** A failed turn shows in its session, unless it is tried again, has its caller's ear, or there is no room. */
function isFailureNoted(body: TurnBody, error: { code: string }, willRetry: boolean): boolean {
  if (willRetry || error.code === "storage_full") return false;
  return body.heartbeat === undefined && body.chat === undefined;
}

/** The messages of a chat completion, and of a turn that had paused, are in its session by then. */
function bodyToKeep(body: TurnBody): TurnBody | undefined {
  if (body.chat === undefined && body.paused === undefined) return undefined;
  return { ...body, chat: undefined, paused: undefined };
}

function metaOf(body: TurnBody): Record<string, unknown> {
  // A session that a caller names later is kept.
  return {
    agent: body.agent ?? "main",
    source: body.source,
    principal: body.principal,
    temporary: body.temporary === true ? true : null,
  };
}

function namesOf({ item }: Claim<TurnBody>, body: TurnBody) {
  const { agent: agentId = "main", source } = body;
  const context = exactJson.toPlain(body.context) as TurnBody["context"];
  return { turnId: item.id, sessionId: item.lane, agentId, source, context };
}

/** The delivery of a turn's result, where the turn has a target for it. */
function deliveryOf(
  ctx: PluginContext,
  { item }: Claim<TurnBody>,
  type: string,
  end: Record<string, unknown>,
): NewItem[] {
  const { delivery, source } = item.body;
  if (typeof delivery !== "object") return [];
  const data = { turnId: item.id, sessionId: item.lane, source, ...end };
  const message = { type, timestamp: new Date().toISOString(), data };
  const principal = principalOfTurn(item);
  return [deliveryItem(ctx, { of: item.id, target: delivery, message, principal })];
}

function stoppedError(why: Stopped["why"]): PorticoError {
  return why === "cancelled" ? errors.turnStopped() : errors.gatewayStopping();
}

function toStored(messages: readonly { role: string }[], turnId: string): NewMessage[] {
  return messages.map((message) => ({ role: message.role, body: message, turnId }));
}

/** What the session of a failed turn shows. */
function failureNote({ id, lane }: Claim["item"], body: TurnBody, error: { message: string }) {
  const messages = [
    { role: "user", content: body.message },
    { role: "assistant", content: `[This turn ended without an answer: ${error.message}]` },
  ];
  return { session: lane, messages: toStored(messages, id), meta: metaOf(body) };
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
