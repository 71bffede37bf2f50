/** Watches an element during an action, and aborts the action if it cannot succeed. */
import type { Locator } from "../drivers/playwright.ts";
import type { Probe } from "../tab/page-scripts.ts";
import type { Trial } from "./trial.ts";
import { findObstacle } from "./obstacles.ts";
import { isPresent, probeLocator } from "./probing.ts";

/** The time in ms that an obstacle (an animation, a spinner) gets to disappear, unless the caller set a timeout. */
export const PATIENCE_MS = 1_500;
/** The delay in ms before the first probe, since a probe costs as much as a click. Most actions have ended by then. */
const FIRST_PROBE_MS = 100;
/** The time in ms within which a press ends that removes its element. */
const VANISHED_MS = 700;

type WatchedAction = Pick<
  Trial,
  "needs" | "timeoutMs" | "isExplicit" | "byLabel" | "followsRedraw"
>;

export class ElementWatch {
  /** True if the element is no longer on the page. */
  isGone = false;
  /** True if the label of the element receives the input instead. */
  usesLabel = false;
  readonly #stop = new AbortController();
  readonly #locator: Locator;
  readonly #trial: WatchedAction;
  #timer: NodeJS.Timeout | undefined;

  constructor(locator: Locator, trial: WatchedAction) {
    this.#locator = locator;
    this.#trial = trial;
    void this.#watch().catch(() => {});
  }

  /** A signal that aborts the action. It is also aborted when the watch ends. */
  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  end(): void {
    clearTimeout(this.#timer);
    this.#stop.abort();
  }

  #wait(ms: number): Promise<void> {
    return new Promise((resolve) => (this.#timer = setTimeout(resolve, ms)));
  }

  async #watch(): Promise<void> {
    const { needs, timeoutMs, isExplicit } = this.#trial;
    await this.#abortIfGone();
    if (this.signal.aborted) return;
    await this.#wait(FIRST_PROBE_MS);
    const probe = await probeLocator(this.#locator, needs, timeoutMs);
    if (this.signal.aborted) return;
    if (probe === undefined) return this.#abortIfVanished();
    if (this.#abortIfLabelled(probe)) return;
    const isHindered = findObstacle(probe, needs) !== undefined;
    if (!needs.hit && (isExplicit || !isHindered)) return;
    await this.#wait(PATIENCE_MS);
    // An obstacle may have disappeared in the meantime, and an element out of view is checked once the action could scroll to it.
    const laterProbe = await probeLocator(this.#locator, { ...needs, scroll: true }, timeoutMs);
    if (laterProbe !== undefined && this.#abortIfLabelled(laterProbe)) return;
    const isHopeless =
      laterProbe === undefined ? isHindered : findObstacle(laterProbe, needs) !== undefined;
    if (isHopeless && !isExplicit) this.#stop.abort();
  }

  async #abortIfGone(): Promise<void> {
    this.isGone = !(await isPresent(this.#locator));
    if (this.isGone) this.#stop.abort();
  }

  /** The action may have removed the element itself; then it ends in a moment. */
  async #abortIfVanished(): Promise<void> {
    if (!this.#trial.followsRedraw) return;
    await this.#wait(VANISHED_MS);
    await this.#abortIfGone();
  }

  #abortIfLabelled({ label, enabled, inert }: Probe): boolean {
    const { byLabel } = this.#trial;
    this.usesLabel = byLabel !== undefined && label !== undefined && enabled && !inert;
    if (this.usesLabel) this.#stop.abort();
    return this.usesLabel;
  }
}
