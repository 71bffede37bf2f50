/** Takes turns out of the store and keeps their leases. */
import { hostname } from "node:os";
import type { Claim } from "portico";
import { createConductor } from "./conduct.ts";
import type { Heartbeat } from "../heartbeat.ts";
import { Stopped } from "./outcome.ts";
import type { Parts } from "../parts.ts";
import type { Progress } from "./progress.ts";
import type { TurnBody } from "./turn.ts";

const LEASE_MS = 30_000;
const RENEW_MS = 10_000;
/** After a failure of the store, and at the latest between two looks for work that another gateway put in. */
const RETRY_LOOK_MS = 1000;
const LONGEST_SLEEP_MS = 5000;
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

// A reload evaluates this file anew, and the workers of the old one are still alive.
const ALIVE = Symbol.for("portico.agent.workers");
const shared = globalThis as { [ALIVE]?: Set<string> };
const alive: Set<string> = (shared[ALIVE] ??= new Set());

interface Running {
  claim: Claim<TurnBody>;
  controller: AbortController;
  done: Promise<void>;
}

export function createWorker(parts: Parts, heartbeat: Heartbeat, progress: Progress): Worker {
  const { ctx } = parts;
  const name = `${hostname()}:${process.pid}:${Math.random().toString(36).slice(2, 8)}`;
  const conduct = createConductor(parts, heartbeat, progress);
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
    alive.add(name);
    unsubscribe = parts.store().onWork("turn", () => void look());
    renewal = setInterval(() => void renew(), RENEW_MS).unref();
    void releaseDead().then(look, look);
  }

  /** A process of this machine that is gone will not come back for its turns: no need to wait for its leases. */
  async function releaseDead(): Promise<void> {
    const store = parts.store();
    const workers = new Set((await store.items.lanes(1000)).flatMap((lane) => lane.worker ?? []));
    for (const worker of workers) {
      if (isDead(worker)) await store.abandon(worker);
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
    // work that came in while this looked may have been missed
    if (again) return look();
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
      alive.delete(name);
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

async function within(ms: number, work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([work, late]);
  clearTimeout(timer);
}

/** A worker is named `<host>:<process>:<random>`; one of another host is never known to be dead. */
function isDead(worker: string): boolean {
  const [host, pid] = worker.split(":");
  if (host !== hostname()) return false;
  // the number of this very process: a worker of it that is alive, or one of an earlier process of the same number
  if (Number(pid) === process.pid) return !alive.has(worker);
  try {
    process.kill(Number(pid), 0);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ESRCH";
  }
}
