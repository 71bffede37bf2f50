/** Puts versions in and takes them out: the new one is up before the old one goes, and where it fails the old one stays. */
import { Scope } from "../../timing/scope.ts";
import type { Logger } from "../../contract/index.ts";
import type { Kind, Phase } from "./kind.ts";
import type { Slot, Version } from "./slot.ts";

export function createSwap<V extends Version, S extends Slot<V>>(
  kind: Kind<V, S, unknown>,
  phase: Phase,
) {
  const ending = new Set<Promise<void>>();

  function end({ scope }: { scope: Scope }, log: Logger): Promise<void> {
    const work = async () => {
      for (const error of await scope.dispose(kind.undoMs ?? 2 ** 31 - 1))
        log.error({ err: error }, `its clean-up failed: ${error.message}`);
    };
    const done = work().finally(() => ending.delete(done));
    ending.add(done);
    return done;
  }

  return {
    /**
     * Throws what the version's start throws, once all of it is undone. `agree` is awaited before what it has staged takes
     * effect, and keeps the old version where it throws. Not `isMeant` any more, it does not take effect.
     */
    async start(
      slot: S,
      version: V,
      options: {
        generation?: number;
        agree?: (() => Promise<void>) | undefined;
        isMeant?: () => boolean;
      } = {},
    ): Promise<void> {
      const scope = new Scope();
      try {
        const given = kind.start(version, scope, slot, phase);
        // Not awaited where it need not be: then old and new change places within this tick.
        if (given) await given;
        if (options.agree) await options.agree();
        if (options.isMeant?.() === false) throw new Error("another version is meant by now");
        scope.takeUp();
      } catch (thrown) {
        await end({ scope }, slot.log);
        throw thrown;
      }
      const old = slot.active;
      const { generation = slot.generation + 1 } = options;
      const active = { version, scope, generation, loadedAt: new Date().toISOString() };
      Object.assign(slot, { active, generation, error: undefined });
      if (old) void end(old, slot.log);
      const told = { generation, dir: version.candidate.dir, ms: Math.round(version.loadMs) };
      if (phase.started) slot.log.info(told, old ? "reloaded" : "loaded");
    },
    /** Resolves when it has cleaned up; it takes no more calls at once. */
    async stop(slot: S, why: string): Promise<void> {
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
