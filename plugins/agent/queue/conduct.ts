/** Runs claimed turns. */
import type { Client, Principal } from "portico";
import { isDead, Stopped } from "portico/schedules";
import type { Claim, NewItem } from "portico/store";
import type { Access } from "../access/access.ts";
import type { AgentContext, AgentSettings } from "../context.ts";
import type { Heartbeat } from "../heartbeat/heartbeat.ts";
import { type History, loadHistory } from "../turns/history.ts";
import { channelOf, modelOf } from "../turns/model.ts";
import { type LoopState, createLoopState } from "../turns/loop-state.ts";
import { StepRecorder } from "../turns/step-records.ts";
import { runTurn, type TurnPause } from "../turns/turn.ts";
import type { TurnEnd } from "../turns/turn-end.ts";
import { errors } from "../errors.ts";
import { Ending } from "./ending.ts";
import { principalOfTurn } from "./principal-of.ts";
import type { Progress } from "../turns/progress.ts";
import { emitReceived, type TurnBody } from "../turns/turn-body.ts";

/** A turn that crashes the gateway must not do so for ever, but a gateway that is killed often must not lose turns. */
const MAX_INTERRUPTIONS = 40;

interface Run {
  end: TurnEnd | TurnPause;
  history: History;
}

interface RunScope {
  settings: AgentSettings;
  access: Access;
  loop: LoopState;
  steps: StepRecorder;
  signal: AbortSignal;
}

/** A claimed turn while it runs here. */
interface RunningTurn {
  claim: Claim<TurnBody>;
  principal: Principal;
  /** Contains the final prompt text after `#prepare`. */
  body: TurnBody;
  loop: LoopState;
  steps: StepRecorder;
  followUp: NewItem[];
}

/** Runs claimed turns, each from its beginning to its end. */
export class Conductor {
  readonly #agent: AgentContext;
  readonly #heartbeat: Heartbeat;
  readonly #progress: Progress;
  readonly #ending: Ending;

  constructor(agent: AgentContext, heartbeat: Heartbeat, progress: Progress) {
    this.#agent = agent;
    this.#heartbeat = heartbeat;
    this.#progress = progress;
    this.#ending = new Ending(agent, progress);
  }

  /** Never rejects. The reason of `stopSignal` is a `Stopped`, which says why the turn must end. */
  async conduct(claim: Claim<TurnBody>, stopSignal: AbortSignal): Promise<void> {
    const { id } = claim.item;
    const principal = principalOfTurn(claim.item);
    const body: TurnBody = { ...claim.item.body, principal };
    const loop = body.paused?.loop ?? createLoopState("");
    const steps = await this.#recordSteps(claim, loop);
    const turn: RunningTurn = { claim, principal, body, loop, steps, followUp: [] };
    const timeoutController = new AbortController();
    const signal = AbortSignal.any([stopSignal, timeoutController.signal]);
    this.#progress.notifyStart(id);
    try {
      await this.#run(turn, timeoutController, signal);
    } catch (error) {
      const reason = signal.aborted ? signal.reason : error;
      await this.#ending.fail(claim, turn.body, reason, { trace: loop.trace, steps });
    } finally {
      this.#progress.notifyEnd(id);
    }
  }

  #recordSteps({ item }: Claim<TurnBody>, { trace }: LoopState): Promise<StepRecorder> {
    const { ctx, store } = this.#agent;
    const isFirst = item.attempts === 1 && trace.length === 0;
    const turn = { turnId: item.id, attempt: item.attempts, trace, isFirst };
    return StepRecorder.start(store, ctx.log, turn);
  }

  async #run(
    turn: RunningTurn,
    timeoutController: AbortController,
    signal: AbortSignal,
  ): Promise<void> {
    const { claim } = turn;
    const startTime = performance.now();
    const settings = this.#agent.settings(turn.body.agent);
    const ms = turn.body.timeoutMs ?? settings.timeoutMs;
    const deadline = setTimeout(() => timeoutController.abort(errors.turnTooLong({ ms })), ms);
    try {
      throwIfPointless(claim);
      const access = await this.#agent.access(turn.principal);
      const bytes = Buffer.byteLength(turn.body.message);
      await this.#agent.storage.admit(turn.principal, bytes, "transcript");
      const run = await raceWithAbort(signal, async () =>
        (await this.#prepare(turn))
          ? this.#runOnce(turn, { settings, access, loop: turn.loop, steps: turn.steps, signal })
          : undefined,
      );
      clearTimeout(deadline);
      if (run === undefined) return await this.#ending.completeWithoutWork(claim, turn.steps);
      await this.#end(turn, run, access, performance.now() - startTime);
    } finally {
      clearTimeout(deadline);
    }
  }

  async #end(
    { claim, body, loop, steps, followUp }: RunningTurn,
    { end, history }: Run,
    access: Access,
    ms: number,
  ): Promise<void> {
    const { meta } = history;
    if ("pause" in end) {
      const paused = { loop, prompt: end.prompt, followUp };
      return this.#ending.pause(claim, { ...body, paused }, end.pause, { meta, steps });
    }
    return this.#ending.complete({
      claim,
      body,
      end,
      meta,
      access,
      followUp,
      ms,
      trace: loop.trace,
      steps,
    });
  }

  /** Completes the prompt text of the turn. Returns false for a heartbeat that has nothing to do. */
  async #prepare(turn: RunningTurn): Promise<boolean> {
    const { body } = turn;
    const { id, lane } = turn.claim.item;
    if (body.paused !== undefined) {
      turn.followUp = body.paused.followUp;
      return true;
    }
    if (body.heartbeat === undefined) {
      turn.body = await emitReceived(this.#agent, lane, body);
      return true;
    }
    const beat = await this.#heartbeat.prepare(id, body.heartbeat);
    if (beat === "nothing") return false;
    const { message, untrusted, followUp } = beat;
    turn.body = { ...body, message, untrusted };
    turn.followUp = followUp;
    return true;
  }

  async #runOnce({ claim, body }: RunningTurn, scope: RunScope): Promise<Run> {
    const { item } = claim;
    const { settings, access, loop, signal } = scope;
    const { chat } = body;
    const client =
      this.#progress.callerOf(item.id)?.client ??
      (await this.#agent.client(access.principal, chat === undefined));
    const model = body.reply === undefined ? await modelOf(this.#agent, body, settings) : "hook";
    if (loop.model === "") loop.model = model;
    const history: History = chat
      ? { messages: chat.history }
      : await this.#loadHistory(item.lane, { body, model, client, ...scope });
    const end = await runTurn(this.#agent, {
      turnId: item.id,
      sessionId: item.lane,
      body,
      model,
      settings,
      history,
      prompt: body.paused?.prompt ?? chat?.prompt,
      loop,
      parameters: chat?.parameters,
      client,
      access,
      signal,
      onDelta: () => this.#progress.listener(item.id, item.attempts),
      onTrace: () => scope.steps.scheduleWrite(),
    });
    return { end, history };
  }

  #loadHistory(
    sessionId: string,
    { body, model, client, settings, access, signal }: RunScope & HistoryScope,
  ): Promise<History> {
    const { ctx } = this.#agent;
    return loadHistory({
      store: this.#agent.store(),
      chat: ctx.use("chat"),
      settings,
      model,
      sessionId,
      channel: channelOf(body, settings),
      principal: access.principal,
      client,
      log: ctx.log,
      signal,
    });
  }
}

interface HistoryScope {
  body: TurnBody;
  model: string;
  client: Client | undefined;
}

/** Throws if the turn must not run: nobody waits for its chat completion any more, or it was interrupted too often. */
function throwIfPointless({ item }: Claim<TurnBody>): void {
  // The caller of a chat completion lost the connection together with the process that served it.
  if (item.body.chat && (item.attempts > 1 || isDead(item.body.chat.caller)))
    throw new Stopped("cancelled");
  if (item.attempts - item.failures <= MAX_INTERRUPTIONS) return;
  throw errors.cutOffTooOften({ times: MAX_INTERRUPTIONS });
}

/** Rejects as soon as the signal is aborted, even if the work is still running. */
async function raceWithAbort<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  signal.throwIfAborted();
  let abort: (() => void) | undefined;
  const abortPromise = new Promise<never>((_, reject) => {
    abort = () => reject(signal.reason);
    signal.addEventListener("abort", abort, { once: true });
  });
  try {
    const result = work();
    result.catch(() => {}); // If the abort is faster, nobody awaits this promise.
    return await Promise.race([result, abortPromise]);
  } finally {
    if (abort) signal.removeEventListener("abort", abort);
  }
}
