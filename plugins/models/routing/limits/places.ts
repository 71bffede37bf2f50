/** The places of a channel within `maxConcurrent`, over all workers where there are several. */
import type { Workers } from "portico";

/** A place that is held. */
export interface Place {
  /** Gives it back. Once; more often is harmless. */
  release(): void;
}

type WorkersPlace = ReturnType<Workers["place"]>;

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
  take(signal?: AbortSignal): Place | Promise<Place | undefined> {
    const { max } = this.#options;
    if (max === undefined) return this.#hold();
    const workers = this.#options.workers?.();
    if (workers) return this.#takeShared(workers, max, signal);
    return this.inFlight < max ? this.#hold() : this.#wait(signal);
  }

  #wait(signal?: AbortSignal): Promise<Place | undefined> {
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

  async #takeShared(
    workers: Workers,
    max: number,
    signal?: AbortSignal,
  ): Promise<Place | undefined> {
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
    if (granted) return this.#hold(place);
    place.leave();
    return undefined;
  }

  #hold(shared?: WorkersPlace): Place {
    this.inFlight++;
    return new Held(this, shared);
  }

  /** Called by a place that is given back. */
  left(): void {
    this.inFlight--;
    this.#waiting.shift()?.(true);
  }
}

/** An object: a function with what it needs takes twice the room, and there is one for each request. */
class Held implements Place {
  #places: Places | undefined;
  readonly #shared: WorkersPlace | undefined;

  constructor(places: Places, shared: WorkersPlace | undefined) {
    this.#places = places;
    this.#shared = shared;
  }

  release(): void {
    const places = this.#places;
    this.#places = undefined;
    if (places === undefined) return;
    places.left();
    this.#shared?.leave();
  }
}
