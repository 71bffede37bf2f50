/** The service `agent`: turns and wakes as other plugins start and follow them. */
import { newId, PorticoError } from "portico";
import type { AgentService, TurnEnd, TurnRequest, TurnStatus, WakeRequest, WakeStatus } from "portico/agent";
import type { Usage } from "portico/chat";
import type { NewItem, WorkItem } from "portico/store";
import { announcement } from "./turns/conduct.ts";
import { WAKE, WAKE_NOW } from "./heartbeat/events.ts";
import type { Heartbeat } from "./heartbeat/heartbeat.ts";
import { MAIN_SESSION, type Parts } from "./parts.ts";
import type { Progress } from "./turns/progress.ts";
import { fence } from "./turns/prompt.ts";
import type { TurnBody } from "./turns/turn.ts";
import type { Worker } from "./turns/worker.ts";

/** Between two looks at a turn that may run in another gateway. */
const LOOK_MS = 1000;
/** A wake is given up only after this many heartbeats that failed for good. */
const WAKE_ATTEMPTS = 10;

export interface ServiceParts {
  worker: Worker;
  heartbeat: Heartbeat;
  progress: Progress;
}

export function createService(parts: Parts, { worker, heartbeat, progress }: ServiceParts): AgentService {
  const { ctx } = parts;

  function turnItem(request: TurnRequest & Pick<TurnBody, "reply" | "notes">): {
    turnId: string;
    sessionId: string;
    item: NewItem;
  } {
    const { turnId = newId("turn"), session, ...body } = request;
    const settings = parts.settings(request.agent);
    const sessionId = session ?? `${request.source}:${turnId}`;
    const item = { id: turnId, lane: sessionId, kind: "turn", body, maxAttempts: settings.maxAttempts };
    return { turnId, sessionId, item };
  }

  function wakeItem(request: WakeRequest): { eventId: string; item: NewItem } {
    const { eventId = newId("evt"), mode, ...body } = request;
    const kind = mode === "now" ? WAKE_NOW : WAKE;
    return { eventId, item: { id: eventId, lane: MAIN_SESSION, kind, body, maxAttempts: WAKE_ATTEMPTS } };
  }

  async function turn(turnId: string): Promise<TurnStatus | undefined> {
    const item = await parts.store().items.get(turnId);
    return item?.kind === "turn" ? turnStatus(item as WorkItem<TurnBody>) : undefined;
  }

  async function waitFor(
    turnId: string,
    options: { signal?: AbortSignal; timeoutMs?: number } = {},
  ): Promise<TurnStatus> {
    const until = options.timeoutMs === undefined ? Number.POSITIVE_INFINITY : performance.now() + options.timeoutMs;
    for (;;) {
      options.signal?.throwIfAborted();
      const changed = nextChange(turnId, Math.min(LOOK_MS, Math.max(0, until - performance.now())), options.signal);
      const status = await turn(turnId);
      if (!status) throw new PorticoError("not_found", `There is no turn ${turnId}.`);
      if (status.state !== "queued" && status.state !== "running") return status;
      if (performance.now() >= until) throw new PorticoError("timeout", `The turn ${turnId} has not ended yet.`);
      await changed;
    }
  }

  function nextChange(turnId: string, withinMs: number, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer);
        unsubscribe();
        signal?.removeEventListener("abort", done);
        resolve();
      };
      const timer = setTimeout(done, withinMs);
      const unsubscribe = progress.onChange(turnId, done);
      signal?.addEventListener("abort", done, { once: true });
    });
  }

  return {
    mainSession: MAIN_SESSION,
    fence,
    turnItem,
    wakeItem,
    async startTurn(request, options = {}) {
      const { turnId, item } = turnItem(request);
      await parts.store().enqueue({ items: [item] });
      if (options.wait) return waitFor(turnId, options.signal ? { signal: options.signal } : {});
      return (await turn(turnId)) ?? missing(turnId);
    },
    async wake(request) {
      const { eventId, item } = wakeItem(request);
      await parts.store().enqueue({ items: [item] });
      return { eventId };
    },
    turn,
    async event(eventId) {
      const item = await parts.store().items.get(eventId);
      if (item?.kind !== WAKE && item?.kind !== WAKE_NOW) return undefined;
      const taken = item.drainedBy === undefined ? undefined : await turn(item.drainedBy);
      return wakeStatus(item, taken);
    },
    waitFor,
    endOf,
    async cancel(turnId) {
      if (worker.abort(turnId)) return true;
      const item = await parts.store().items.get(turnId);
      return item?.kind === "turn" && (await parts.store().items.cancel(turnId));
    },
    async announce(text, from) {
      await parts.store().enqueue({ messages: [announcement(text, from.sessionId ?? from.source, from.turnId)] });
      void ctx.emit("agent:announced", { content: text, ...from }, { sessionKey: MAIN_SESSION });
    },
    heartbeat: (reason) => heartbeat.now(reason),
  };
}

function endOf(status: TurnStatus): TurnEnd {
  if (status.state === "done") return { status: 200, message: "The turn has ended.", ...status };
  const { turnId, sessionId, error } = status;
  const { code, message } = error ?? { code: "cancelled", message: "The turn was stopped." };
  const known = code === "cancelled" ? { status: 409 } : code === "internal_error" ? { status: 500 } : {};
  throw new PorticoError(code, message, { ...known, details: { turnId, sessionId } });
}

function missing(turnId: string): never {
  throw new PorticoError("not_found", `There is no turn ${turnId}.`);
}

interface TurnResult {
  text?: string;
  model?: string;
  steps?: number;
  usage?: Usage;
}

export function turnStatus(item: WorkItem<TurnBody>): TurnStatus {
  const result = item.result as TurnResult | undefined;
  const { prompt_tokens = 0, completion_tokens = 0, total_tokens = 0 } = result?.usage ?? {};
  return {
    turnId: item.id,
    sessionId: item.lane,
    state: item.state === "held" ? "running" : item.state,
    source: item.body.source,
    attempts: item.attempts,
    ...times(item),
    ...(item.retryAt === undefined ? {} : { retryAt: iso(item.retryAt) }),
    ...(result?.text === undefined ? {} : { result: result.text }),
    ...(result?.model === undefined ? {} : { model: result.model }),
    ...(result?.steps === undefined ? {} : { steps: result.steps }),
    ...(result?.usage === undefined ? {} : { usage: { prompt_tokens, completion_tokens, total_tokens } }),
    ...(item.error === undefined || item.state === "done" ? {} : { error: item.error }),
  };
}

function wakeStatus(item: WorkItem, taken: TurnStatus | undefined): WakeStatus {
  return {
    eventId: item.id,
    state: item.state === "held" ? "running" : item.state,
    attempts: item.attempts,
    ...times(item),
    ...(item.drainedBy === undefined ? {} : { turnId: item.drainedBy }),
    ...(taken?.result === undefined ? {} : { result: taken.result }),
    ...(item.error === undefined || item.state === "done" ? {} : { error: item.error }),
  };
}

function times(item: WorkItem): { createdAt: string; startedAt?: string; finishedAt?: string } {
  return {
    createdAt: iso(item.createdAt),
    ...(item.startedAt === undefined ? {} : { startedAt: iso(item.startedAt) }),
    ...(item.finishedAt === undefined ? {} : { finishedAt: iso(item.finishedAt) }),
  };
}

export function iso(ms: number): string {
  return new Date(ms).toISOString();
}
