/** The service `agent`: turns and wakes as other plugins start and follow them. */
import { currentPrincipal, PorticoError } from "portico";
import { newId } from "./ids.ts";
import type { AgentService, TurnEnd, TurnRequest, TurnStatus, WakeRequest } from "portico/agent";
import type { NewItem, WorkItem } from "portico/store";
import { announcement } from "./queue/ending.ts";
import { WAKE, WAKE_NOW } from "./heartbeat/events.ts";
import type { Heartbeat } from "./heartbeat/heartbeat.ts";
import { MAIN_SESSION, type AgentContext } from "./context.ts";
import type { Progress } from "./turns/progress.ts";
import { cleanSessionName } from "./session-name.ts";
import { fence } from "./turns/fence.ts";
import { hasEnded, turnStatus, wakeStatus } from "./queue/status.ts";
import { holderOf } from "./queue/principal-of.ts";
import type { TurnBody } from "./turns/turn-body.ts";
import type { Worker } from "./queue/worker.ts";

/** Between two looks at a turn that may run in another gateway. */
const LOOK_MS = 1000;
/** A wake is given up only after this many heartbeats that failed for good. */
const WAKE_ATTEMPTS = 10;

export function createService(
  agent: AgentContext,
  { worker, heartbeat, progress }: { worker: Worker; heartbeat: Heartbeat; progress: Progress },
): AgentService {
  const { ctx } = agent;

  function turnItem(request: TurnRequest & Pick<TurnBody, "reply" | "notes" | "stream">): {
    turnId: string;
    sessionId: string;
    item: NewItem;
  } {
    const { turnId = newId("turn"), session, ...rest } = request;
    const settings = agent.settings(request.agent);
    const sessionId =
      session === undefined ? `${request.source}:${turnId}` : cleanSessionName(session);
    const body = {
      ...rest,
      delivery: sealDelivery(request.delivery),
      principal: request.principal ?? currentPrincipal(),
      temporary: request.temporary ?? session === undefined,
    };
    const item = {
      id: turnId,
      lane: sessionId,
      kind: "turn",
      holder: holderOf(body.principal),
      body,
      maxAttempts: settings.maxAttempts,
    };
    return { turnId, sessionId, item };
  }

  /** As it may be stored: without its secrets. */
  function sealDelivery(delivery: TurnRequest["delivery"]): TurnRequest["delivery"] {
    if (typeof delivery !== "object") return delivery;
    const deliveries = ctx.use("deliveries");
    deliveries.check(delivery, "delivery");
    return deliveries.seal(delivery);
  }

  function wakeItem(request: WakeRequest): { eventId: string; item: NewItem } {
    const { eventId = newId("evt"), mode, text, source, metadata } = request;
    const body = { text, source, metadata, principal: request.principal ?? currentPrincipal() };
    const kind = mode === "now" ? WAKE_NOW : WAKE;
    return {
      eventId,
      item: { id: eventId, lane: MAIN_SESSION, kind, body, maxAttempts: WAKE_ATTEMPTS },
    };
  }

  async function turn(turnId: string): Promise<TurnStatus | undefined> {
    const item = await agent.store().items.get(turnId);
    if (item?.kind === "turn") return turnStatus(item as WorkItem<TurnBody>);
    if (item === undefined || item.kind === WAKE || item.kind === WAKE_NOW) return undefined;
    // what was collected with others is known by its own id, and has become a turn together with them
    const next = (item.result as { became?: string } | undefined)?.became ?? item.drainedBy;
    return next === undefined ? undefined : turn(next);
  }

  async function waitFor(
    turnId: string,
    options: { signal?: AbortSignal; timeoutMs?: number; refusedAtOnce?: boolean } = {},
  ): Promise<TurnStatus> {
    const until =
      options.timeoutMs === undefined
        ? Number.POSITIVE_INFINITY
        : performance.now() + options.timeoutMs;
    for (;;) {
      options.signal?.throwIfAborted();
      const changed = nextChange(
        turnId,
        Math.min(LOOK_MS, Math.max(0, until - performance.now())),
        options.signal,
      );
      const status = await turn(turnId);
      if (!status) throw new PorticoError("not_found", `There is no turn ${turnId}.`);
      if (hasEnded(status)) return status;
      const { error, sessionId } = status;
      if (options.refusedAtOnce && status.state === "queued" && error?.code === "hook_unavailable")
        throw new PorticoError(error.code, error.message, {
          status: 503,
          details: { turnId, sessionId },
        });
      if (performance.now() >= until)
        throw new PorticoError("timeout", `The turn ${turnId} has not ended yet.`);
      await changed;
    }
  }

  function nextChange(
    turnId: string,
    withinMs: number,
    signal: AbortSignal | undefined,
  ): Promise<void> {
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
    sealDelivery,
    wakeItem,
    admitFiles: (principal, bytes) => agent.storage.admit(principal, bytes, "files"),
    async startTurn(request, options = {}) {
      const { turnId, item } = turnItem(request);
      await agent.store().enqueue({ items: [item] });
      if (options.wait) return waitFor(turnId, { signal: options.signal });
      return (await turn(turnId)) ?? missing(turnId);
    },
    async wake(request) {
      const { eventId, item } = wakeItem(request);
      await agent.store().enqueue({ items: [item] });
      return { eventId };
    },
    turn,
    async event(eventId) {
      const item = await agent.store().items.get(eventId);
      if (item?.kind !== WAKE && item?.kind !== WAKE_NOW) return undefined;
      const taken = item.drainedBy === undefined ? undefined : await turn(item.drainedBy);
      return wakeStatus(item, taken);
    },
    waitFor,
    endOf,
    async cancel(turnId) {
      if (worker.abort(turnId)) return true;
      const item = await agent.store().items.get(turnId);
      if (item?.kind !== "turn" || !(await agent.store().items.cancel(turnId))) return false;
      worker.abort(turnId); // it may have begun to run here meanwhile, and would go on until its lease is renewed
      return true;
    },
    async announce(text, { principal = currentPrincipal(), ...from }) {
      const posted = announcement(text, { ...from, principal });
      await agent.store().enqueue({ messages: [posted] });
      void ctx.emit(
        "agent:announced",
        { content: text, ...from },
        { sessionKey: MAIN_SESSION, principal },
      );
    },
    access: agent.access,
    heartbeat: (reason) => heartbeat.now(reason),
  };
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

function missing(turnId: string): never {
  throw new PorticoError("not_found", `There is no turn ${turnId}.`);
}
