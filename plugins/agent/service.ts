/** The service `agent`, with which other plugins start and follow turns and wakes. */
import { currentPrincipal, PorticoError, type Principal } from "portico";
import { errors } from "./errors.ts";
import { newId } from "./ids.ts";
import type { AgentService, TurnEnd, TurnRequest, TurnStatus, WakeRequest } from "portico/agent";
import type { NewItem, WorkItem } from "portico/store";
import { createAnnouncement } from "./queue/end-records.ts";
import { WAKE, WAKE_NOW } from "./heartbeat/events.ts";
import type { Heartbeat } from "./heartbeat/heartbeat.ts";
import { MAIN_SESSION, type AgentContext } from "./context.ts";
import type { Progress } from "./turns/progress.ts";
import { cleanSessionName } from "./session-name.ts";
import { checkNamedModel } from "./turns/model.ts";
import { fence } from "./turns/fence.ts";
import { hasEnded, toTurnStatus, toWakeStatus } from "./queue/status.ts";
import { holderOf } from "./queue/principal-of.ts";
import type { TurnBody } from "./turns/turn-body.ts";
import type { Worker } from "./queue/worker.ts";

/** The pause between two queries of a turn that may run in another gateway. */
const POLL_MS = 1000;
/** A wake is given up only after this many heartbeats have failed for good. */
const WAKE_ATTEMPTS = 10;

interface ServiceParts {
  worker: Worker;
  heartbeat: Heartbeat;
  progress: Progress;
}

interface WaitOptions {
  signal?: AbortSignal | undefined;
  timeoutMs?: number;
  /** Rejects at once if a required hook refuses the turn, although the turn is retried later. */
  refusedAtOnce?: boolean;
}

export function createService(agent: AgentContext, parts: ServiceParts): AgentService {
  const items = new WorkItems(agent);
  const turns = new Turns(agent, parts);
  const store = () => agent.store();
  return {
    mainSession: MAIN_SESSION,
    fence,
    checkModel: (turn) => checkNamedModel(agent, turn),
    turnItem: (request) => items.createTurn(request),
    sealDelivery: (delivery, principal) => items.sealDelivery(delivery, principal),
    wakeItem: (request) => items.createWake(request),
    admitFiles: (principal, bytes) => agent.storage.admit(principal, bytes, "files"),
    async startTurn(request, options = {}) {
      await checkNamedModel(agent, request);
      const { turnId, item } = items.createTurn(request);
      await store().enqueue({ items: [item] });
      if (options.wait) return turns.waitFor(turnId, { signal: options.signal });
      const status = await turns.find(turnId);
      if (status === undefined) throw errors.unknownTurn({ id: turnId });
      return status;
    },
    async wake(request) {
      const { eventId, item } = items.createWake(request);
      await store().enqueue({ items: [item] });
      return { eventId };
    },
    turn: (turnId) => turns.find(turnId),
    event: (eventId) => turns.findEvent(eventId),
    waitFor: (turnId, options) => turns.waitFor(turnId, options),
    endOf,
    cancel: (turnId) => turns.cancel(turnId),
    async announce(text, { principal = currentPrincipal(), ...from }) {
      await store().enqueue({ messages: [createAnnouncement(text, { ...from, principal })] });
      void agent.ctx.emit(
        "agent:announced",
        { content: text, ...from },
        { sessionKey: MAIN_SESSION, principal },
      );
    },
    access: agent.access,
    heartbeat: (reason) => parts.heartbeat.startNow(reason),
  };
}

/** Makes the queue items of turns and wakes. */
class WorkItems {
  readonly #agent: AgentContext;

  constructor(agent: AgentContext) {
    this.#agent = agent;
  }

  createTurn(request: TurnRequest & Pick<TurnBody, "reply" | "notes" | "stream">): {
    turnId: string;
    sessionId: string;
    item: NewItem;
  } {
    const { turnId = newId("turn"), session, ...rest } = request;
    const settings = this.#agent.settings(request.agent);
    const sessionId =
      session === undefined ? `${request.source}:${turnId}` : cleanSessionName(session);
    const principal = request.principal ?? currentPrincipal();
    const body = {
      ...rest,
      delivery: this.sealDelivery(request.delivery, principal),
      principal,
      temporary: request.temporary ?? session === undefined,
    };
    const item = {
      id: turnId,
      lane: sessionId,
      kind: "turn",
      holder: holderOf(principal),
      body,
      maxAttempts: settings.maxAttempts,
    };
    return { turnId, sessionId, item };
  }

  /** Returns the target in the form in which it may be stored: without plain secrets. */
  sealDelivery(delivery: TurnRequest["delivery"], principal: Principal): TurnRequest["delivery"] {
    if (typeof delivery !== "object") return delivery;
    const deliveries = this.#agent.ctx.use("deliveries");
    deliveries.check(delivery, "delivery", principal);
    return deliveries.seal(delivery);
  }

  createWake(request: WakeRequest): { eventId: string; item: NewItem } {
    const { eventId = newId("evt"), mode, text, source, metadata } = request;
    const body = { text, source, metadata, principal: request.principal ?? currentPrincipal() };
    const kind = mode === "now" ? WAKE_NOW : WAKE;
    const item = { id: eventId, lane: MAIN_SESSION, kind, body, maxAttempts: WAKE_ATTEMPTS };
    return { eventId, item };
  }
}

/** Finds turns and events, waits for turns and stops them. */
class Turns {
  readonly #agent: AgentContext;
  readonly #worker: Worker;
  readonly #progress: Progress;

  constructor(agent: AgentContext, { worker, progress }: ServiceParts) {
    this.#agent = agent;
    this.#worker = worker;
    this.#progress = progress;
  }

  async find(turnId: string): Promise<TurnStatus | undefined> {
    const item = await this.#agent.store().items.get(turnId);
    if (item?.kind === "turn") return toTurnStatus(item as WorkItem<TurnBody>);
    if (item === undefined || item.kind === WAKE || item.kind === WAKE_NOW) return undefined;
    // Items that were collected into one turn keep their ids and refer to that turn.
    const next = (item.result as { became?: string } | undefined)?.became ?? item.drainedBy;
    return next === undefined ? undefined : this.find(next);
  }

  async findEvent(eventId: string) {
    const item = await this.#agent.store().items.get(eventId);
    if (item?.kind !== WAKE && item?.kind !== WAKE_NOW) return undefined;
    const turn = item.drainedBy === undefined ? undefined : await this.find(item.drainedBy);
    return toWakeStatus(item, turn);
  }

  async waitFor(
    turnId: string,
    { signal, timeoutMs = Number.POSITIVE_INFINITY, refusedAtOnce = false }: WaitOptions = {},
  ): Promise<TurnStatus> {
    const until = performance.now() + timeoutMs;
    for (;;) {
      signal?.throwIfAborted();
      const remainingMs = Math.max(0, until - performance.now());
      // The subscription comes before the query, so that no change between the two is lost.
      const nextChange = this.#nextChange(turnId, Math.min(POLL_MS, remainingMs), signal);
      const status = await this.find(turnId);
      if (status === undefined) throw errors.unknownTurn({ id: turnId });
      if (hasEnded(status)) return status;
      if (refusedAtOnce) throwIfRefused(status);
      if (performance.now() >= until) throw errors.turnNotEnded({ id: turnId });
      await nextChange;
    }
  }

  #nextChange(turnId: string, withinMs: number, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve) => {
      const end = () => {
        clearTimeout(timer);
        unsubscribe();
        signal?.removeEventListener("abort", end);
        resolve();
      };
      const timer = setTimeout(end, withinMs);
      const unsubscribe = this.#progress.onChange(turnId, end);
      signal?.addEventListener("abort", end, { once: true });
    });
  }

  async cancel(turnId: string): Promise<boolean> {
    if (this.#worker.abort(turnId)) return true;
    const { items } = this.#agent.store();
    const item = await items.get(turnId);
    if (item?.kind !== "turn" || !(await items.cancel(turnId))) return false;
    // The turn may have started here in the meantime, and would otherwise run until its lease is renewed.
    this.#worker.abort(turnId);
    return true;
  }
}

/** Throws 503 if a required hook is unavailable, so that the turn waits in the queue. */
function throwIfRefused({ state, error, turnId, sessionId }: TurnStatus): void {
  if (state !== "queued" || error?.code !== "hook_unavailable") return;
  throw new PorticoError(error.code, error.message, {
    status: 503,
    details: { turnId, sessionId },
  });
}

function endOf(status: TurnStatus): TurnEnd {
  if (status.state === "done") return { status: 200, message: "The turn has ended.", ...status };
  const {
    turnId,
    sessionId,
    error = { code: "cancelled", message: "The turn was stopped.", status: 409 },
  } = status;
  throw new PorticoError(error.code, error.message, {
    status: error.code === "cancelled" ? 409 : error.status,
    headers: error.status === 429 ? { "retry-after": "30" } : undefined,
    details: { turnId, sessionId },
  });
}
