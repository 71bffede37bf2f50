/** Work that is repeated at an interval, and on request. */
export interface Rounds {
  start(): void;
  /** Asks for a round now, or in `delayMs` where none comes earlier. A poke during a round makes another one. */
  poke(delayMs?: number): void;
  /** Begins no further round. Resolves when the running one has ended. */
  stop(): Promise<void>;
}

export interface RoundsOptions {
  /** Returns for how many ms there is nothing to do. Never runs twice at a time. */
  round(): Promise<number>;
  /** A failed round is repeated after `retryMs`. */
  retryMs: number;
  failed(error: unknown): void;
}

/** Its timer keeps no process alive. */
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
    // in the same tick as the last look at the time, or a poke between the two would be lost
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
