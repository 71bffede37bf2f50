/** Takes turns out of the store, keeps their leases, and writes down how they ended. */
import { hostname } from "node:os";
import { PorticoError } from "portico";
import type { Batch, Claim, ClaimOutcome, NewMessage, WorkItem } from "portico";
import type { Heartbeat } from "./heartbeat.ts";
import { loadHistory } from "./history.ts";
import { MAIN_SESSION, type Parts, shownError } from "./parts.ts";
import type { Progress } from "./progress.ts";
import { received, runTurn, type TurnBody, type TurnEnd } from "./turn.ts";

const LEASE_MS = 30_000;
const RENEW_MS = 10_000;
/** After a failure of the store, and at the latest between two looks for work that another gateway put in. */
const RETRY_LOOK_MS = 1000;
const LONGEST_SLEEP_MS = 5000;
/** A turn that takes the gateway down with it must not do so for ever; a gateway that is killed often must not lose one. */
const MOST_CUT_OFF = 40;
/** How long running turns may go on when the plugin is reloaded. */
const RELOAD_GRACE_MS = 3000;

export interface Worker {
  start(): void;
  /** Takes no more turns; running ones go on. */
  rest(): void;
  /** Stops running turns too: they are taken up again at the next start. */
  stop(): Promise<void>;
  /** Stops a turn that runs here; false where it does not. */
  abort(turnId: string): boolean;
  /** The turns of a session that run here. */
  runningIn(sessionId: string): string[];
}

/** Why a running turn was aborted. */
class Stopped extends Error {
  readonly why: "cancelled" | "lost" | "shutdown";
  constructor(why: "cancelled" | "lost" | "shutdown") {
    super(why);
    this.why = why;
  }
}

interface Running {
  claim: Claim<TurnBody>;
  controller: AbortController;
  done: Promise<void>;
}

export function createWorker(parts: Parts, heartbeat: Heartbeat, progress: Progress): Worker {
  const { ctx } = parts;
  const name = `${hostname()}:${process.pid}:${Math.random().toString(36).slice(2, 8)}`;
  const running = new Map<string, Running>();
  let active = false;
  let resting = false;
  let looking = false;
  let again = false;
  let timer: NodeJS.Timeout | undefined;
  let renewal: NodeJS.Timeout | undefined;
  let unsubscribe = () => {};

  function start(): void {
    active = true;
    unsubscribe = parts.store().onWork("turn", () => void look());
    renewal = setInterval(() => void renew(), RENEW_MS).unref();
    void releaseDead().then(look, look);
  }

  /** A process of this machine that is gone will not come back for its turns: no need to wait for its leases. */
  async function releaseDead(): Promise<void> {
    const store = parts.store();
    const workers = new Set((await store.items.lanes(1000)).flatMap((lane) => lane.worker ?? []));
    for (const worker of workers) {
      const [host, pid] = worker.split(":");
      if (host === hostname() && worker !== name && !isAlive(Number(pid))) await store.abandon(worker);
    }
  }

  async function look(): Promise<void> {
    if (!active) return;
    if (looking) {
      again = true;
      return;
    }
    looking = true;
    clearTimeout(timer);
    let sleepMs: number | undefined;
    try {
      do {
        again = false;
        const room = parts.defaults().maxConcurrentTurns - running.size;
        if (room <= 0) break;
        for (const claim of await parts.store().claim(name, room, LEASE_MS, ["turn"])) begin(claim as Claim<TurnBody>);
      } while (again && active);
      const next = await parts.store().nextWorkAt(["turn"]);
      sleepMs = next === undefined ? LONGEST_SLEEP_MS : Math.max(0, next - parts.store().now());
      // with every place taken, the end of a turn is what wakes this up
      if (running.size >= parts.defaults().maxConcurrentTurns) sleepMs = LONGEST_SLEEP_MS;
    } catch (error) {
      ctx.log.warn({ err: error }, "could not look for turns");
      sleepMs = RETRY_LOOK_MS;
    } finally {
      looking = false;
    }
    if (active) timer = setTimeout(() => void look(), Math.min(Math.max(sleepMs, 5), LONGEST_SLEEP_MS)).unref();
  }

  function begin(claim: Claim<TurnBody>): void {
    const controller = new AbortController();
    const done = ctx.busy(conduct(claim, controller));
    running.set(claim.item.id, { claim, controller, done });
    void done.finally(() => {
      running.delete(claim.item.id);
      void look();
    });
  }

  async function renew(): Promise<void> {
    for (const { claim, controller } of running.values()) {
      try {
        if (!(await parts.store().extend(claim, LEASE_MS))) controller.abort(new Stopped("lost"));
      } catch (error) {
        ctx.log.warn({ err: error, turn: claim.item.id }, "could not renew the lease of a turn");
      }
    }
  }

  /** Never rejects. */
  async function conduct(claim: Claim<TurnBody>, controller: AbortController): Promise<void> {
    const { item } = claim;
    const began = performance.now();
    let body = item.body;
    progress.started(item.id);
    try {
      const settings = parts.settings(body.agent);
      const timeoutMs = body.timeoutMs ?? settings.timeoutMs;
      const late = new PorticoError("timeout", `The turn did not end within ${timeoutMs} ms.`);
      const deadline = setTimeout(() => controller.abort(late), timeoutMs);
      const { signal } = controller;
      try {
        if (item.attempts - item.failures > MOST_CUT_OFF) {
          throw new PorticoError("attempts_exhausted", `The turn was cut off ${MOST_CUT_OFF} times.`, { status: 500 });
        }
        const end = await unlessAborted(signal, async () => {
          const beat = body.heartbeat === undefined ? undefined : await heartbeat.prepare(item.id, body.heartbeat);
          if (beat === "nothing") return undefined;
          body = beat
            ? { ...body, message: beat.message, untrusted: beat.untrusted }
            : await received(parts, item.lane, body);
          const history = await loadHistory({
            store: parts.store(),
            chat: ctx.use("chat"),
            settings: body.model === undefined ? settings : { ...settings, model: body.model },
            sessionId: item.lane,
            log: ctx.log,
            signal,
          });
          const input = { turnId: item.id, sessionId: item.lane, body, settings, history, signal };
          return { turn: await runTurn(parts, { ...input, onDelta: () => progress.listener(item.id) }), history };
        });
        clearTimeout(deadline);
        if (end) await complete(claim, body, end.turn, end.history.meta, performance.now() - began);
        else await finish(claim, { state: "done", result: { text: "", steps: 0 } });
      } finally {
        clearTimeout(deadline);
      }
    } catch (error) {
      await failed(claim, body, controller.signal.aborted ? controller.signal.reason : error);
    } finally {
      progress.ended(item.id);
    }
  }

  async function complete(
    claim: Claim<TurnBody>,
    body: TurnBody,
    end: TurnEnd,
    meta: Record<string, unknown> | undefined,
    ms: number,
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
      items: beat ? await heartbeat.followUp(item.id) : [],
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
    const outcome = outcomeOf(item, reason, error, parts);
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

  /** False where the turn is somebody else's by now, or could not be written: then its lease runs out and it is repeated. */
  async function finish(claim: Claim<TurnBody>, outcome: ClaimOutcome, batch?: Batch): Promise<boolean> {
    try {
      const owned = await parts.store().finish(claim, outcome, batch);
      if (!owned) ctx.log.warn({ turn: claim.item.id }, "the end of this turn was refused: another worker has it");
      return owned;
    } catch (error) {
      ctx.log.error(
        { err: error, turn: claim.item.id },
        "the end of this turn could not be written; it will be repeated",
      );
      return false;
    }
  }

  function rest(): void {
    resting = true;
    active = false;
    unsubscribe();
    clearTimeout(timer);
  }

  return {
    start,
    rest,
    async stop() {
      const reload = !resting;
      rest();
      if (reload) await within(RELOAD_GRACE_MS, Promise.allSettled([...running.values()].map(({ done }) => done)));
      for (const { controller } of running.values()) controller.abort(new Stopped("shutdown"));
      await Promise.allSettled([...running.values()].map(({ done }) => done));
      clearInterval(renewal);
    },
    abort(turnId) {
      const turn = running.get(turnId);
      turn?.controller.abort(new Stopped("cancelled"));
      return turn !== undefined;
    },
    runningIn: (sessionId) =>
      [...running.values()].filter(({ claim }) => claim.item.lane === sessionId).map(({ claim }) => claim.item.id),
  };
}

function outcomeOf(
  item: WorkItem,
  reason: unknown,
  error: { code: string; message: string },
  parts: Parts,
): ClaimOutcome {
  const now = parts.store().now();
  if (reason instanceof Stopped) {
    if (reason.why === "cancelled") return { state: "cancelled", error };
    return { state: "retry", at: now, error, interrupted: true };
  }
  if (!isTransient(reason) || item.failures + 1 >= item.maxAttempts) return { state: "dead", error };
  const { headers, retryAfterMs } = reason as { headers?: Record<string, string>; retryAfterMs?: number };
  const asked = retryAfterMs ?? Number(headers?.["retry-after"] ?? 0) * 1000;
  const delay = parts.defaults().retryDelayMs * 4 ** item.failures * (0.8 + Math.random() * 0.4);
  return { state: "retry", at: now + Math.max(Math.min(delay, 600_000), Math.min(asked || 0, 600_000)), error };
}

/** What may go better next time: anything but a refusal of the request itself, or a turn that was too slow already. */
function isTransient(reason: unknown): boolean {
  const { status, code } = reason as { status?: unknown; code?: unknown };
  if (code === "timeout" || code === "attempts_exhausted" || code === "upstream_auth") return false;
  return typeof status !== "number" || status >= 500 || status === 429 || status === 408;
}

function namesOf(claim: Claim<TurnBody>, body: TurnBody) {
  return {
    turnId: claim.item.id,
    sessionId: claim.item.lane,
    agentId: body.agent ?? "main",
    source: body.source,
    ...(body.context === undefined ? {} : { context: body.context }),
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
    messages: [{ role: "assistant", body, ...(turnId === undefined ? {} : { turnId }) }],
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

async function within(ms: number, work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([work, late]);
  clearTimeout(timer);
}

function isAlive(pid: number): boolean {
  // this process is another one than the worker of the same number
  if (pid === process.pid) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
