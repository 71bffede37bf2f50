/** Replaces versions: the new one starts before the old one stops, and if it fails, the old one stays. */
import type { Logger } from "../../contract/index.ts";
import { Scope } from "../../timing/scope.ts";
import { advance } from "./attempt.ts";
import type { Kind, Phase } from "./kind.ts";
import { identifyVersion, type Slot, type Version } from "./slot.ts";

const UNLIMITED_MS = 2 ** 31 - 1;

export interface StartOptions {
  /** The generation of the version; by default one more than that of the previous version. */
  generation?: number;
  /** Awaited before the version's staged effects begin. If it throws, the old version stays. */
  agree?: (() => Promise<void>) | undefined;
  /** Returns false if the host should run another version by now; then this one does not take effect. */
  isStillMeant?: () => boolean;
}

export class Swap<V extends Version, S extends Slot<V>> {
  readonly #kind: Kind<V, S, unknown>;
  readonly #phase: Phase;
  readonly #cleanUps = new Set<Promise<void>>();

  constructor(kind: Kind<V, S, unknown>, phase: Phase) {
    this.#kind = kind;
    this.#phase = phase;
  }

  /** Starts a version. If the start throws, undoes everything that the version did, and throws the same error. */
  async start(slot: S, version: V, options: StartOptions = {}): Promise<void> {
    const scope = new Scope();
    try {
      const starting = this.#kind.start(version, scope, slot, this.#phase);
      // A synchronous start is not awaited, so that the old and the new version are exchanged within this tick.
      if (starting) await starting;
      if (options.agree) await options.agree();
      if (options.isStillMeant?.() === false)
        throw new Error("a later change to the files replaced this version before it started");
      scope.takeUp();
    } catch (thrown) {
      await this.#disposeScope(scope, slot.log);
      throw thrown;
    }
    this.#activate(slot, version, scope, options.generation ?? slot.generation + 1);
  }

  #activate(slot: S, version: V, scope: Scope, generation: number): void {
    const old = slot.active;
    slot.active = { version, scope, generation, loadedAt: new Date().toISOString() };
    slot.generation = generation;
    advance(slot, "succeed", { id: identifyVersion(version.candidate) });
    if (old) void this.#disposeScope(old.scope, slot.log);
    if (!this.#phase.started) return;
    const { dir } = version.candidate;
    slot.log.info({ generation, dir, ms: Math.round(version.loadMs) }, old ? "reloaded" : "loaded");
  }

  /** Removes the active version at once. Resolves when it has cleaned up. */
  async stop(slot: S, reason: string): Promise<void> {
    const { active } = slot;
    slot.active = undefined;
    advance(slot, "retry");
    if (!active) return;
    if (this.#phase.started && !this.#phase.stopped) slot.log.info(`no longer runs: ${reason}`);
    await this.#disposeScope(active.scope, slot.log);
  }

  /** Resolves when every removed version has cleaned up. */
  async waitForCleanUps(): Promise<void> {
    await Promise.all([...this.#cleanUps]);
  }

  #disposeScope(scope: Scope, log: Logger): Promise<void> {
    const work = async () => {
      for (const error of await scope.dispose(this.#kind.undoMs ?? UNLIMITED_MS))
        log.error({ err: error }, `its clean-up failed: ${error.message}`);
    };
    const cleanUp = work().finally(() => this.#cleanUps.delete(cleanUp));
    this.#cleanUps.add(cleanUp);
    return cleanUp;
  }
}
