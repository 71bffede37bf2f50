/** Writes how a turn ended, and notifies those who wait for it. */
import { exactJson, type PorticoError } from "portico";
import type { TracedStep } from "portico/agent";
import { Stopped } from "portico/schedules";
import type { Batch, Claim, ClaimOutcome } from "portico/store";
import { type AgentContext, MAIN_SESSION, toPublicError } from "../context.ts";
import { errors } from "../errors.ts";
import type { LoopPause } from "../turns/loop.ts";
import type { Caller, Progress } from "../turns/progress.ts";
import type { StepRecorder } from "../turns/step-records.ts";
import { closeTrace } from "../turns/trace.ts";
import type { TurnBody } from "../turns/turn-body.ts";
import { createWaitingMark } from "./decisions.ts";
import {
  buildBatch,
  bodyToKeep,
  type CompletedTurn,
  createDelivery,
  createFailureNote,
  isFailureNoted,
  mustAnnounce,
  textToKeep,
} from "./end-records.ts";
import { outcomeOf } from "./outcome.ts";
import { iso } from "./status.ts";

const FINISH_TRIES = 30;
const FINISH_PAUSE_MS = 1000;

/** The steps of an attempt. */
interface Steps {
  trace: TracedStep[];
  steps: StepRecorder;
}

/** The end of an attempt, with everything that follows from it. */
interface AttemptEnd {
  claim: Claim<TurnBody>;
  steps: StepRecorder;
  outcome: ClaimOutcome;
  /** Written in the same transaction as the outcome. */
  batch?: Batch;
  /** The response for a caller whose connection is open. */
  response?: Parameters<Caller["settle"]>[0];
  /** Updates the record of the steps if the turn continues later. */
  recordSteps?(): Promise<void>;
  emitEvents?(): void;
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
  async completeWithoutWork(claim: Claim<TurnBody>, steps: StepRecorder): Promise<void> {
    const outcome = { state: "done", result: { text: "", steps: 0 } } as const;
    await this.#apply({ claim, steps, outcome });
  }

  async complete(turn: CompletedTurn & Steps & { ms: number }): Promise<void> {
    const { claim, body, end, trace, steps: recorder, ms } = turn;
    const { failedAttempts } = recorder;
    const text = textToKeep(turn);
    const isAnnounced = mustAnnounce(turn, text);
    const { steps, model, usage, ended } = end;
    const result = { text, model, steps, usage, ended, trace, failedAttempts };
    await this.#apply({
      claim,
      steps: recorder,
      outcome: { state: "done", result, body: bodyToKeep(body) },
      batch: buildBatch(this.#agent.ctx, turn, text, isAnnounced),
      response: { end },
      emitEvents: () => {
        this.#emitCompleted(turn, text, ms);
        if (isAnnounced) this.#emitAnnounced(turn, text);
      },
    });
  }

  #emitCompleted({ claim, body, end }: CompletedTurn, content: string, ms: number): void {
    const { ctx } = this.#agent;
    const { item } = claim;
    const { principal, source } = body;
    const { steps, model, usage } = end;
    const emitOptions = { sessionKey: item.lane, principal };
    // The chat endpoint emits this event for its own completions.
    if (content !== "" && !body.chat)
      void ctx.emit("message:sent", { content, source, model, to: item.lane }, emitOptions);
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
      emitOptions,
    );
  }

  #emitAnnounced({ claim, body }: CompletedTurn, content: string): void {
    const { id: turnId, lane: sessionId } = claim.item;
    const { principal, source } = body;
    void this.#agent.ctx.emit(
      "agent:announced",
      { content, source, turnId, sessionId },
      { sessionKey: MAIN_SESSION, principal },
    );
  }

  /** Pauses a turn until the owner has decided. A turn that pauses only to save its progress continues at once. */
  async pause(
    claim: Claim<TurnBody>,
    body: TurnBody,
    { until, newCalls: calls }: LoopPause,
    { meta, steps }: Pick<CompletedTurn, "meta"> & Pick<Steps, "steps">,
  ): Promise<void> {
    const { item } = claim;
    const now = this.#agent.store().now();
    await this.#apply({
      claim,
      steps,
      outcome: { state: "paused", at: until ?? now, body },
      batch: {
        messages: meta === undefined ? [] : [{ session: item.lane, messages: [], meta }],
        kv: until === undefined ? [] : [createWaitingMark(item.id, until - now)],
      },
      recordSteps: () => steps.recordPause(),
      emitEvents: () => {
        for (const call of calls) this.#emitConfirm(claim, body, call);
      },
    });
  }

  #emitConfirm(
    claim: Claim<TurnBody>,
    body: TurnBody,
    { callId, tool, arguments: args, until }: LoopPause["newCalls"][number],
  ): void {
    void this.#agent.ctx.emit(
      "agent:confirm",
      { ...namesOf(claim, body), callId, tool, arguments: args, until },
      { sessionKey: claim.item.lane, principal: body.principal },
    );
  }

  async fail(
    claim: Claim<TurnBody>,
    body: TurnBody,
    reason: unknown,
    { trace, steps }: Steps,
  ): Promise<void> {
    const { ctx, store, defaults } = this.#agent;
    const { item } = claim;
    const stopReason = reason instanceof Stopped ? reason.why : undefined;
    if (stopReason === "lost") {
      ctx.log.warn({ turn: item.id }, "Another worker has taken this turn over.");
      steps.abandon();
      return;
    }
    const error = stopReason
      ? { code: stopReason, message: `The turn was stopped (${stopReason}).` }
      : toPublicError(reason);
    if (!stopReason)
      ctx.log.warn({ err: reason, turn: item.id, attempt: item.attempts }, "A turn failed.");
    const outcome = outcomeOf(item, reason, error, {
      now: store().now(),
      retryDelayMs: defaults().retryDelayMs,
      trace: closeTrace(trace),
      failedAttempts: steps.failedAttempts,
    });
    const willRetry = outcome.state === "retry";
    await this.#apply({
      claim,
      steps,
      outcome,
      batch: {
        messages: isFailureNoted(body, error, willRetry)
          ? [createFailureNote(item, body, error)]
          : [],
        items: willRetry ? [] : createDelivery(ctx, claim, "turn.failed", { error }),
      },
      response: { error: stopReason ? createStoppedError(stopReason) : reason },
      recordSteps: async () => {
        if (willRetry) await steps.recordFailure(error);
      },
      emitEvents: () => {
        if (!stopReason) this.#emitFailed(claim, body, error, outcome);
      },
    });
  }

  #emitFailed(
    claim: Claim<TurnBody>,
    body: TurnBody,
    error: ReturnType<typeof toPublicError>,
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
   * Ends an attempt. The order matters:
   *
   * 1. A caller with an open connection does not wait for the store.
   * 2. If the turn continues later, the record of its steps is written while this process still owns the turn, because the
   *    process that resumes the turn reads the record.
   * 3. The outcome and its records are one transaction. If the store refuses it, another worker owns the turn, and nothing
   *    else happens: that worker writes the record and emits the events.
   * 4. The events report only what is durable.
   * 5. If the turn has ended, its result contains the steps, so their record is removed.
   */
  async #apply({ claim, steps, outcome, batch, ...end }: AttemptEnd): Promise<void> {
    if (end.response) this.#progress.callerOf(claim.item.id)?.settle(end.response);
    await end.recordSteps?.();
    if (!(await this.#finish(claim, outcome, batch))) {
      steps.abandon();
      return;
    }
    end.emitEvents?.();
    const willContinue = outcome.state === "retry" || outcome.state === "paused";
    if (!willContinue) await steps.recordEnd();
  }

  /**
   * Returns false if another worker owns the turn by now, or if the end could not be written; in that case the lease
   * expires and the turn is repeated. The effects of a turn cannot be undone, so this retries while the store fails.
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
            "The outcome of a turn was not saved, because another worker owns the turn.",
          );
        return isOwned;
      } catch (error) {
        if (toPublicError(error).code !== "store_unavailable" && batch !== undefined) {
          // An end that can never be written must not be tried for ever.
          ctx.log.error({ err: error, turn }, "The outcome of a turn cannot be saved.");
          return this.#finish(claim, { state: "dead", error: toPublicError(error) });
        }
        if (tries === FINISH_TRIES || ctx.signal.aborted) {
          ctx.log.error(
            { err: error, turn },
            "The outcome of a turn could not be saved. The turn will run again.",
          );
          return false;
        }
        await new Promise((resolve) => setTimeout(resolve, FINISH_PAUSE_MS));
      }
    }
  }
}

function namesOf({ item }: Claim<TurnBody>, body: TurnBody) {
  const { agent: agentId = "main", source } = body;
  const context = exactJson.toPlain(body.context) as TurnBody["context"];
  return { turnId: item.id, sessionId: item.lane, agentId, source, context };
}

function createStoppedError(reason: Stopped["why"]): PorticoError {
  return reason === "cancelled" ? errors.turnStopped() : errors.gatewayStopping();
}
