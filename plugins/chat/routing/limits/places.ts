/** The places of a channel within `maxConcurrent`, over all workers where there are several. */
import type { Workers } from "portico";

/** Gives a place back. Once; more often is harmless. */
export type Release = () => void;

interface PlacesOptions {
  name: string;
  max: number | undefined;
  queueMs: number;
  workers?: (() => Workers | undefined) | undefined;
}

export class Places {
  readonly #options: PlacesOptions;
  #waiting: ((granted: boolean) => void)[] = [];
  #queued = 0;
  /** In this process. */
  inFlight = 0;

  constructor(options: PlacesOptions) {
    this.#options = options;
  }

  get queued(): number {
    return this.#waiting.length + this.#queued;
  }

  /** A place at once, a promise of one within the time for waiting, resolving to undefined where none came free. */
  take(signal?: AbortSignal): Release | Promise<Release | undefined> {
    const { max } = this.#options;
    if (max === undefined) return this.#hold();
    const workers = this.#options.workers?.();
    if (workers) return this.#takeShared(workers, max, signal);
    return this.inFlight < max ? this.#hold() : this.#wait(signal);
  }

  #wait(signal?: AbortSignal): Promise<Release | undefined> {
    return new Promise((resolve) => {
      const waiter = (granted: boolean) => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", leave);
        resolve(granted ? this.#hold() : undefined);
      };
      const leave = () => {
        const at = this.#waiting.indexOf(waiter);
        if (at !== -1) this.#waiting.splice(at, 1);
        waiter(false);
      };
      const timer = setTimeout(leave, this.#options.queueMs);
      signal?.addEventListener("abort", leave, { once: true });
      this.#waiting.push(waiter);
    });
  }

  async #takeShared(workers: Workers, max: number, signal?: AbortSignal): Promise<Release | undefined> {
    const place = workers.place(`channel:${this.#options.name}`, max);
    this.#queued++;
    const granted = await new Promise<boolean>((resolve) => {
      const leave = () => resolve(false);
      const timer = setTimeout(leave, this.#options.queueMs);
      signal?.addEventListener("abort", leave, { once: true });
      void place.granted.then(() => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", leave);
        resolve(true);
      });
    });
    this.#queued--;
    if (granted) return this.#hold(place.leave);
    place.leave();
    return undefined;
  }

  #hold(leave = (): void => this.#waiting.shift()?.(true)): Release {
    this.inFlight++;
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      this.inFlight--;
      leave();
    };
  }
}
