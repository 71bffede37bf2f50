/** Limits the concurrent requests of a channel to `maxConcurrent`, over all workers if there are several. */
import type { Workers } from "portico";

/** A taken place. */
export interface Place {
  /** Releases the place. Further calls have no effect. */
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
  #waiters: ((isGranted: boolean) => void)[] = [];
  #queuedAtWorkers = 0;
  /** Requests of this process that hold a place. */
  inFlight = 0;

  constructor(options: PlacesOptions) {
    this.#options = options;
  }

  get queued(): number {
    return this.#waiters.length + this.#queuedAtWorkers;
  }

  /**
   * Takes a place at once, or waits up to `queueMs` for one. Resolves to undefined if none became free in time or
   * `signal` aborted.
   */
  take(signal?: AbortSignal): Place | Promise<Place | undefined> {
    const { max } = this.#options;
    if (max === undefined) return this.#occupy();
    if (signal?.aborted) return Promise.resolve(undefined);
    const workers = this.#options.workers?.();
    if (workers) return this.#takeShared(workers, max, signal);
    return this.inFlight < max ? this.#occupy() : this.#wait(signal);
  }

  #wait(signal?: AbortSignal): Promise<Place | undefined> {
    return new Promise((resolve) => {
      const waiter = (isGranted: boolean) => {
        cancel();
        resolve(isGranted ? this.#occupy() : undefined);
      };
      const giveUp = () => {
        const index = this.#waiters.indexOf(waiter);
        if (index !== -1) this.#waiters.splice(index, 1);
        waiter(false);
      };
      const cancel = onTimeoutOrAbort(giveUp, this.#options.queueMs, signal);
      this.#waiters.push(waiter);
    });
  }

  async #takeShared(
    workers: Workers,
    max: number,
    signal?: AbortSignal,
  ): Promise<Place | undefined> {
    const place = workers.place(`channel:${this.#options.name}`, max);
    this.#queuedAtWorkers++;
    const isGranted = await new Promise<boolean>((resolve) => {
      const cancel = onTimeoutOrAbort(() => resolve(false), this.#options.queueMs, signal);
      void place.granted.then(() => {
        cancel();
        resolve(true);
      });
    });
    this.#queuedAtWorkers--;
    if (isGranted) return this.#occupy(place);
    place.leave();
    return undefined;
  }

  #occupy(shared?: WorkersPlace): Place {
    this.inFlight++;
    return new TakenPlace(this, shared);
  }

  /** Called when a place is released: the first waiting request gets it. */
  freePlace(): void {
    this.inFlight--;
    this.#waiters.shift()?.(true);
  }
}

/** Calls `giveUp` once, after `ms` or when `signal` aborts, unless the result is called before. */
function onTimeoutOrAbort(giveUp: () => void, ms: number, signal?: AbortSignal): () => void {
  const cancel = () => {
    clearTimeout(timer);
    signal?.removeEventListener("abort", end);
  };
  const end = () => {
    cancel();
    giveUp();
  };
  const timer = setTimeout(end, ms);
  signal?.addEventListener("abort", end, { once: true });
  return cancel;
}

/** An object, because there is one for each request and a closure takes twice the memory. */
class TakenPlace implements Place {
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
    places.freePlace();
    this.#shared?.leave();
  }
}
