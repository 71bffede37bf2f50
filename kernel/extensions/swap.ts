/** Puts versions in and takes them out: the new one is up before the old one goes, and where it fails the old one stays. */
import { Scope } from "../timing/scope.ts";
import type { Logger } from "../types.ts";
import type { Active, Candidate, Slot, Version } from "./slot.ts";

/** How one kind of extension runs. */
export interface Runs<C extends Candidate, V extends Version<C>, R> {
  /** Registers what the version does, each with its undo in the scope. What it throws leaves the old version running. */
  start(version: V, scope: Scope, slot: Slot<C, V, R>, phase: Phase): R | Promise<R>;
  /** What was registered takes effect, in the same tick in which the old version's goes. */
  takeUp?(running: R): void;
  /** How long one undo may take. */
  undoMs: number;
}

/** `started`: what happens from now on is news, and logged. */
export interface Phase {
  started: boolean;
  stopped: boolean;
}

export function createSwap<C extends Candidate, V extends Version<C>, R>(runs: Runs<C, V, R>, phase: Phase) {
  const ending = new Set<Promise<void>>();

  function end(active: Active<V, R>, log: Logger): Promise<void> {
    const done = dispose(active.scope, log).finally(() => ending.delete(done));
    ending.add(done);
    return done;
  }

  async function dispose(scope: Scope, log: Logger): Promise<void> {
    for (const error of await scope.dispose(runs.undoMs))
      log.error({ err: error }, `its clean-up failed: ${error.message}`);
  }

  return {
    /** Throws what the version's start throws, once all of it is undone. */
    async start(slot: Slot<C, V, R>, version: V, generation = slot.generation + 1): Promise<void> {
      const scope = new Scope();
      let running: R;
      try {
        const given = runs.start(version, scope, slot, phase);
        // Not awaited where it need not be: then old and new change places within this tick.
        running = given instanceof Promise ? await given : given;
        runs.takeUp?.(running);
      } catch (thrown) {
        await dispose(scope, slot.log);
        throw thrown;
      }
      const old = slot.active;
      slot.generation = generation;
      slot.active = { version, scope, generation, loadedAt: new Date().toISOString(), running };
      slot.error = undefined;
      if (old) void end(old, slot.log);
      const { dir } = version.candidate;
      if (phase.started)
        slot.log.info({ generation, dir, ms: Math.round(version.loadMs) }, old ? "reloaded" : "loaded");
    },
    /** Resolves when it has cleaned up; it takes no more calls at once. */
    async stop(slot: Slot<C, V, R>, why: string): Promise<void> {
      const { active } = slot;
      slot.active = undefined;
      slot.tried = undefined;
      if (!active) return;
      if (phase.started && !phase.stopped) slot.log.info(`no longer runs: ${why}`);
      await end(active, slot.log);
    },
    /** Resolves when all that was ended has cleaned up. */
    ended: (): Promise<unknown> => Promise.all([...ending]),
  };
}
