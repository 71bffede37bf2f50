/** Watches an element while an action is tried on it, and breaks the action off where it cannot be done. */
import type { Locator } from "../drivers/playwright.ts";
import type { Probe } from "../tab/page-scripts.ts";
import type { Trial } from "./trial.ts";
import { hindrance } from "./hindrance.ts";
import { isThere, look } from "./looking.ts";

/** Something in the way gets this long to go (an animation, a spinner) unless the caller set a limit. */
export const PATIENCE_MS = 1_500;
/** Looking at an element costs as much as a click on it: it waits this long, and most actions are over by then. */
const UNWATCHED_MS = 100;
/** An element may go away while it is pressed: the press is over by then. */
const VANISHED_MS = 700;

type Watched = Pick<Trial, "needs" | "timeoutMs" | "explicit" | "byLabel" | "followsRedraw">;

export class ElementWatch {
  /** The element is not on the page any more. */
  gone = false;
  /** Its label takes the input in its place. */
  goesByLabel = false;
  readonly #stop = new AbortController();
  readonly #locator: Locator;
  readonly #trial: Watched;
  #timer: NodeJS.Timeout | undefined;

  constructor(locator: Locator, trial: Watched) {
    this.#locator = locator;
    this.#trial = trial;
    void this.#watch().catch(() => {});
  }

  /** Aborted where the action is to be broken off, and when the watch has ended. */
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
    const { needs, timeoutMs, explicit } = this.#trial;
    await this.#endWhereGone();
    if (this.signal.aborted) return;
    await this.#wait(UNWATCHED_MS);
    const probe = await look(this.#locator, needs, timeoutMs);
    if (this.signal.aborted) return;
    if (probe === undefined) return this.#endWhereVanished();
    if (this.#endWhereLabelled(probe)) return;
    const isHindered = hindrance(probe, needs) !== undefined;
    if (!needs.hit && (explicit || !isHindered)) return;
    await this.#wait(PATIENCE_MS);
    // An obstacle may have disappeared in the meantime, and an element out of view is checked once the action could scroll to it.
    const again = await look(this.#locator, { ...needs, scroll: true }, timeoutMs);
    if (again !== undefined && this.#endWhereLabelled(again)) return;
    const isLost = again === undefined ? isHindered : hindrance(again, needs) !== undefined;
    if (isLost && !explicit) this.#stop.abort();
  }

  async #endWhereGone(): Promise<void> {
    this.gone = !(await isThere(this.#locator));
    if (this.gone) this.#stop.abort();
  }

  /** The action may have removed the element itself, and is over in a moment then. */
  async #endWhereVanished(): Promise<void> {
    if (!this.#trial.followsRedraw) return;
    await this.#wait(VANISHED_MS);
    await this.#endWhereGone();
  }

  #endWhereLabelled({ label, enabled, inert }: Probe): boolean {
    const { byLabel } = this.#trial;
    this.goesByLabel = byLabel !== undefined && label !== undefined && enabled && !inert;
    if (this.goesByLabel) this.#stop.abort();
    return this.goesByLabel;
  }
}
