/** One claimed turn from its beginning to what is written of its end. */
import { PorticoError } from "portico";
import { Stopped } from "portico/cron";
import type { Batch, Claim, ClaimOutcome, NewItem, NewMessage } from "portico/store";
import type { Heartbeat } from "../heartbeat/heartbeat.ts";
import { loadHistory } from "./history.ts";
import { outcomeOf } from "./outcome.ts";
import { MAIN_SESSION, type AgentContext, shownError } from "../context.ts";
import type { Progress } from "./progress.ts";
import { channelOf, received, runTurn, type TurnBody, type TurnEnd } from "./turn.ts";

/** A turn that takes the gateway down with it must not do so for ever; a gateway that is killed often must not lose one. */
const MOST_CUT_OFF = 40;
const FINISH_TRIES = 30;
const FINISH_PAUSE_MS = 1000;

/** Runs claimed turns. The returned function never rejects; a `Stopped` as the reason of its signal says why it is to end. */
export function createConductor(agent: AgentContext, heartbeat: Heartbeat, progress: Progress) {
  const { ctx } = agent;

  /** Never rejects. */
  async function conduct(claim: Claim<TurnBody>, stop: AbortSignal): Promise<void> {
    const { item } = claim;
    const late = new AbortController();
    const signal = AbortSignal.any([stop, late.signal]);
    const began = performance.now();
    let body = item.body;
    let followUp: NewItem[] = [];
    progress.started(item.id);
    try {
      const settings = agent.settings(body.agent);
      const timeoutMs = body.timeoutMs ?? settings.timeoutMs;
      const deadline = setTimeout(
        () => late.abort(new PorticoError("timeout", `The turn did not end within ${timeoutMs} ms.`)),
        timeoutMs,
      );
      try {
        if (item.attempts - item.failures > MOST_CUT_OFF) {
          throw new PorticoError("attempts_exhausted", `The turn was cut off ${MOST_CUT_OFF} times.`, { status: 500 });
        }
        const end = await unlessAborted(signal, async () => {
          const beat = body.heartbeat === undefined ? undefined : await heartbeat.prepare(item.id, body.heartbeat);
          if (beat === "nothing") return undefined;
          if (beat) {
            body = { ...body, message: beat.message, untrusted: beat.untrusted };
            followUp = beat.followUp;
          } else body = await received(agent, item.lane, body);
          const history = await loadHistory({
            store: agent.store(),
            chat: ctx.use("chat"),
            settings: body.model === undefined ? settings : { ...settings, model: body.model },
            sessionId: item.lane,
            channel: channelOf(body, settings),
            log: ctx.log,
            signal,
          });
          const input = { turnId: item.id, sessionId: item.lane, body, settings, history, signal };
          return {
            turn: await runTurn(agent, { ...input, onDelta: () => progress.listener(item.id, item.attempts) }),
            history,
          };
        });
        clearTimeout(deadline);
        if (end)
          await complete(claim, body, end.turn, { meta: end.history.meta, followUp, ms: performance.now() - began });
        else await finish(claim, { state: "done", result: { text: "", steps: 0 } });
      } finally {
        clearTimeout(deadline);
      }
    } catch (error) {
      await failed(claim, body, signal.aborted ? signal.reason : error);
    } finally {
      progress.ended(item.id);
    }
  }

  async function complete(
    claim: Claim<TurnBody>,
    body: TurnBody,
    end: TurnEnd,
    { meta, followUp, ms }: { meta: Record<string, unknown> | undefined; followUp: NewItem[]; ms: number },
  ): Promise<void> {
    const { item } = claim;
    const beat = body.heartbeat !== undefined;
    const silent = beat && heartbeat.isSilent(end.text);
    const text = silent ? "" : end.text;
    const announced = text !== "" && (beat || (body.delivery === "announce" && item.lane !== MAIN_SESSION));
    const kept = silent && (body.untrusted ?? []).length === 0 ? [] : end.messages;
    const batch: Batch = {
      messages: [
        {
          session: item.lane,
          messages: toStored(kept, item.id),
          meta: { ...meta, agent: body.agent ?? "main", source: body.source },
        },
        ...(announced && !beat ? [announcement(text, item.lane, item.id)] : []),
      ],
      items: followUp,
    };
    const { steps, model, usage, ended } = end;
    if (!(await finish(claim, { state: "done", result: { text, model, steps, usage, ended } }, batch))) return;
    const sessionKey = item.lane;
    if (text !== "")
      void ctx.emit("message:sent", { content: text, source: body.source, model, to: sessionKey }, { sessionKey });
    void ctx.emit(
      "agent:completed",
      {
        ...namesOf(claim, body),
        content: text,
        model,
        steps,
        attempts: item.attempts,
        usage: {
          prompt_tokens: usage.prompt_tokens,
          completion_tokens: usage.completion_tokens,
          total_tokens: usage.total_tokens,
        },
        ms,
      },
      { sessionKey },
    );
    if (announced) {
      const from = { source: body.source, turnId: item.id, sessionId: item.lane };
      void ctx.emit("agent:announced", { content: text, ...from }, { sessionKey: MAIN_SESSION });
    }
  }

  async function failed(claim: Claim<TurnBody>, body: TurnBody, reason: unknown): Promise<void> {
    const { item } = claim;
    const stopped = reason instanceof Stopped ? reason.why : undefined;
    if (stopped === "lost") {
      ctx.log.warn({ turn: item.id }, "another worker has taken this turn over");
      return;
    }
    const error = stopped ? { code: stopped, message: `The turn was stopped (${stopped}).` } : shownError(reason);
    if (!stopped) ctx.log.warn({ err: reason, turn: item.id, attempt: item.attempts }, "turn failed");
    const outcome = outcomeOf(item, reason, error, {
      now: agent.store().now(),
      retryDelayMs: agent.defaults().retryDelayMs,
    });
    const ended =
      outcome.state === "retry" || body.heartbeat !== undefined ? undefined : failureNote(body, error, item.id);
    const batch: Batch = ended ? { messages: [{ session: item.lane, messages: ended }] } : {};
    if (!(await finish(claim, outcome, batch)) || stopped) return;
    const willRetry = outcome.state === "retry";
    void ctx.emit(
      "agent:failed",
      { ...namesOf(claim, body), error, attempts: item.attempts, willRetry },
      { sessionKey: item.lane },
    );
  }

  /**
   * False where the turn is somebody else's by now, or could not be written: then its lease runs out and it is repeated.
   * What the turn did cannot be undone, so a store that fails for a moment is waited for first.
   */
  async function finish(claim: Claim<TurnBody>, outcome: ClaimOutcome, batch?: Batch): Promise<boolean> {
    for (let tries = 1; ; tries++) {
      try {
        const owned = await agent.store().finish(claim, outcome, batch);
        if (!owned) ctx.log.warn({ turn: claim.item.id }, "the end of this turn was refused: another worker has it");
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

  return conduct;
}

function namesOf(claim: Claim<TurnBody>, body: TurnBody) {
  return {
    turnId: claim.item.id,
    sessionId: claim.item.lane,
    agentId: body.agent ?? "main",
    source: body.source,
    context: body.context,
  };
}

function toStored(messages: readonly { role: string }[], turnId: string): NewMessage[] {
  return messages.map((message) => ({ role: message.role, body: message, turnId }));
}

/** A turn that came to nothing shows in its session. */
function failureNote(body: TurnBody, error: { code: string; message: string }, turnId: string): NewMessage[] {
  const said = `[This turn ended without an answer: ${error.message}]`;
  return toStored(
    [
      { role: "user", content: body.message } as { role: string },
      { role: "assistant", content: said } as { role: string },
    ],
    turnId,
  );
}

export function announcement(text: string, from: string, turnId: string | undefined) {
  const body = { role: "assistant", content: `[${from}] ${text}` };
  return {
    session: MAIN_SESSION,
    messages: [{ role: "assistant", body, turnId }],
  };
}

/** Rejects as soon as the signal is aborted, whatever the work is doing. */
async function unlessAborted<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  let abort: (() => void) | undefined;
  const aborted = new Promise<never>((_, reject) => {
    abort = () => reject(signal.reason);
    signal.addEventListener("abort", abort, { once: true });
  });
  try {
    const result = work();
    result.catch(() => {}); // where the abort was faster, it has been answered already
    return await Promise.race([result, aborted]);
  } finally {
    if (abort) signal.removeEventListener("abort", abort);
  }
}
