/** Repeats work at variable intervals, and on request. */
export interface Rounds {
  start(): void;
  /** Requests a round now, or within `delayMs`. A poke during a round causes another one. */
  poke(delayMs?: number): void;
  /** Starts no further round. Resolves when the running one has ended. */
  stop(): Promise<void>;
}

export interface RoundsOptions {
  /** Runs one round. Returns for how many ms there is nothing to do. Two rounds never run at the same time. */
  round(): Promise<number>;
  /** The pause after a failed round, in ms. */
  retryMs: number;
  failed(error: unknown): void;
}

/** Creates rounds whose timer does not keep the process alive. */
export function createRounds({ round, retryMs, failed }: RoundsOptions): Rounds {
  let active = false;
  let dueAt = Number.POSITIVE_INFINITY;
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> | undefined;

  function poke(delayMs = 0): void {
    dueAt = Math.min(dueAt, performance.now() + delayMs);
    if (running === undefined) arm();
  }

  function arm(): void {
    clearTimeout(timer);
    if (!active || dueAt === Number.POSITIVE_INFINITY) return;
    const waitMs = dueAt - performance.now();
    if (waitMs > 0) timer = setTimeout(arm, Math.ceil(waitMs)).unref();
    else running = Promise.resolve().then(run);
  }

  async function run(): Promise<void> {
    while (active && dueAt <= performance.now()) {
      dueAt = Number.POSITIVE_INFINITY;
      let sleepMs = retryMs;
      try {
        sleepMs = await round();
      } catch (error) {
        failed(error);
      }
      dueAt = Math.min(dueAt, performance.now() + sleepMs);
    }
    // This happens in the same tick as the last comparison of the time, so that no poke in between is lost.
    running = undefined;
    arm();
  }

  return {
    start() {
      active = true;
      poke();
    },
    poke,
    async stop() {
      active = false;
      clearTimeout(timer);
      await running;
    },
  };
}
