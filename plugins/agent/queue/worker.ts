/** Claims turns from the store and runs them. */
import { createClaimLoop } from "portico/schedules";
import { Conductor } from "./conduct.ts";
import type { Heartbeat } from "../heartbeat/heartbeat.ts";
import type { AgentContext } from "../context.ts";
import type { Progress } from "../turns/progress.ts";
import { holderOf, principalOfTurn } from "./principal-of.ts";
import type { TurnBody } from "../turns/turn-body.ts";

const LEASE_MS = 30_000;
/** The time for which running turns may continue when the plugin is reloaded. */
const RELOAD_GRACE_MS = 3000;

export interface Worker {
  start(): void;
  /** Claims no more turns; running ones continue. */
  drain(): void;
  /** Stops running turns too. They are resumed at the next start. */
  stop(): Promise<void>;
  /** Stops a turn that runs in this process. Returns false if it does not run here. */
  abort(turnId: string): boolean;
  /** Returns the ids of the turns of a session that run in this process. */
  runningIn(sessionId: string): string[];
}

/** Reserves one place for the owner, and limits every other principal to half of the rest. */
function sharesOf(places: number): { each: number; together: number } | undefined {
  if (places < 2) return undefined;
  const together = places - 1;
  return { each: Math.ceil(together / 2), together };
}

export function createWorker(
  agent: AgentContext,
  heartbeat: Heartbeat,
  progress: Progress,
): Worker {
  const { ctx } = agent;
  const conductor = new Conductor(agent, heartbeat, progress);
  const loop = createClaimLoop<TurnBody>({
    store: agent.store,
    log: ctx.log,
    kinds: ["turn"],
    leaseMs: LEASE_MS,
    most: () => agent.defaults().maxConcurrentTurns,
    shares: () => sharesOf(agent.defaults().maxConcurrentTurns),
    holderOf: (item) => holderOf(principalOfTurn(item)),
    run: (claim, signal) => ctx.busy(conductor.conduct(claim, signal)),
  });
  let isShuttingDown = false;
  return {
    start: loop.start,
    drain() {
      isShuttingDown = true;
      loop.drain();
    },
    stop: () => loop.stop({ graceMs: isShuttingDown ? 0 : RELOAD_GRACE_MS }),
    abort: loop.cancel,
    runningIn: (sessionId) =>
      loop
        .running()
        .filter(({ lane }) => lane === sessionId)
        .map(({ id }) => id),
  };
}
