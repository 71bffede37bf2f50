/** One claimed turn from its beginning to its end. */
import { PorticoError } from "portico";
import { isDead, Stopped } from "portico/schedules";
import type { Claim, NewItem } from "portico/store";
import type { Access } from "../access/access.ts";
import type { AgentContext, AgentSettings } from "../context.ts";
import type { Heartbeat } from "../heartbeat/heartbeat.ts";
import { type History, loadHistory } from "../turns/history.ts";
import { channelOf, modelOf } from "../turns/model.ts";
import { type LoopState, newLoopState } from "../turns/loop-state.ts";
import { runTurn, type TurnPause } from "../turns/turn.ts";
import type { TurnEnd } from "../turns/turn-end.ts";
import { createEnding } from "./ending.ts";
import { principalOfTurn } from "./principal-of.ts";
import type { Progress } from "../turns/progress.ts";
import { received, type TurnBody } from "../turns/turn-body.ts";

/** A turn that takes the gateway down with it must not do so for ever; a gateway that is killed often must not lose one. */
const MOST_CUT_OFF = 40;

interface Run {
  end: TurnEnd | TurnPause;
  history: History;
}

interface RunScope {
  settings: AgentSettings;
  access: Access;
  loop: LoopState;
  signal: AbortSignal;
}

/** Runs claimed turns. The returned function never rejects; a `Stopped` as the reason of its signal says why it is to end. */
export function createConductor(agent: AgentContext, heartbeat: Heartbeat, progress: Progress) {
  const ending = createEnding(agent, progress);

  return async function conduct(claim: Claim<TurnBody>, stop: AbortSignal): Promise<void> {
    const { item } = claim;
    const late = new AbortController();
    const signal = AbortSignal.any([stop, late.signal]);
    const began = performance.now();
    let deadline: NodeJS.Timeout | undefined;
    const principal = principalOfTurn(item);
    let body: TurnBody = { ...item.body, principal };
    let followUp: NewItem[] = [];
    const loop = body.paused?.loop ?? newLoopState("");
    progress.started(item.id);
    try {
      const settings = agent.settings(body.agent);
      const timeoutMs = body.timeoutMs ?? settings.timeoutMs;
      const tooLate = () =>
        late.abort(new PorticoError("timeout", `The turn did not end within ${timeoutMs} ms.`));
      deadline = setTimeout(tooLate, timeoutMs);
      refuseUseless(claim);
      const access = await agent.access(principal);
      await agent.storage.admit(principal, Buffer.byteLength(body.message), "transcript");
      const run = await unlessAborted(signal, async () => {
        const prepared = await prepare(item, body);
        if (prepared === undefined) return undefined;
        ({ body, followUp } = prepared);
        return runOnce(claim, body, { settings, access, loop, signal });
      });
      clearTimeout(deadline);
      if (!run) return await ending.nothing(claim);
      const { end, history } = run;
      if ("pause" in end) {
        const paused = { loop, prompt: end.prompt, followUp };
        return await ending.paused(claim, { ...body, paused }, end.pause, history.meta);
      }
      await ending.completed(claim, body, end, {
        meta: history.meta,
        access,
        followUp,
        ms: performance.now() - began,
        trace: loop.trace,
      });
    } catch (error) {
      await ending.failed(claim, body, signal.aborted ? signal.reason : error, loop.trace);
    } finally {
      clearTimeout(deadline);
      progress.ended(item.id);
    }
  };

  /** The body with the words that the model is to hear; undefined for a heartbeat that has nothing to do. */
  async function prepare(
    { id, lane }: Claim["item"],
    body: TurnBody,
  ): Promise<{ body: TurnBody; followUp: NewItem[] } | undefined> {
    if (body.paused !== undefined) return { body, followUp: body.paused.followUp };
    if (body.heartbeat === undefined)
      return { body: await received(agent, lane, body), followUp: [] };
    const beat = await heartbeat.prepare(id, body.heartbeat);
    if (beat === "nothing") return undefined;
    const { message, untrusted, followUp } = beat;
    return { body: { ...body, message, untrusted }, followUp };
  }

  async function runOnce(
    { item }: Claim<TurnBody>,
    body: TurnBody,
    { settings, access, loop, signal }: RunScope,
  ): Promise<Run> {
    const { chat } = body;
    const { ctx } = agent;
    const client =
      progress.callerOf(item.id)?.client ??
      (await agent.client(access.principal, chat === undefined));
    const model = body.reply === undefined ? await modelOf(agent, body, settings) : "hook";
    if (loop.model === "") loop.model = model;
    const history: History = chat
      ? { messages: chat.history }
      : await loadHistory({
          store: agent.store(),
          chat: ctx.use("chat"),
          settings,
          model,
          sessionId: item.lane,
          channel: channelOf(body, settings),
          principal: access.principal,
          client,
          log: ctx.log,
          signal,
        });
    const end = await runTurn(agent, {
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
      onDelta: () => progress.listener(item.id, item.attempts),
    });
    return { end, history };
  }
}

function refuseUseless({ item }: Claim<TurnBody>): void {
  // the caller who waited for a chat completion lost the connection together with the process that held it
  if (item.body.chat && (item.attempts > 1 || isDead(item.body.chat.caller)))
    throw new Stopped("cancelled");
  if (item.attempts - item.failures <= MOST_CUT_OFF) return;
  throw new PorticoError("attempts_exhausted", `The turn was cut off ${MOST_CUT_OFF} times.`, {
    status: 500,
  });
}

/** Rejects as soon as the signal is aborted, whatever the work is doing. */
async function unlessAborted<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  signal.throwIfAborted();
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
