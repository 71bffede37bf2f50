import type { PluginContext } from "portico";

/** A loop that wakes at due times. */
export interface DueLoop {
  /** Checks again now. Call this after an entry was added or changed. */
  poke(): void;
  stop(): Promise<void>;
}

/** The work of a loop. */
export interface DueWork {
  /** Processes the entries that are due. Returns how many made progress; 0 makes the loop pause. */
  run(now: number): Promise<number>;
  /** Called shortly before an entry comes due, with the time up to which entries may be prepared. */
  foresee?(until: number): Promise<void>;
  /**
   * Called after the clock went back, because dates that were computed from the current time (`every`) may be too late.
   */
  wentBack?(now: number): Promise<void>;
}

export interface DueLoopOptions extends DueWork {
  now(): number;
  nextDueAt(): Promise<number | undefined>;
  failed(error: unknown): void;
}

export interface LoopSwitchOptions {
  ctx: PluginContext;
  /** The kind of the entries in the store. */
  kind: string;
  /** Starts a loop, like `loop` of the service `schedule`. */
  start(options: DueLoopOptions): DueLoop;
  /** Returns the work. Called when the loop starts. */
  work(): DueWork;
}
export type LoopSwitch = ReturnType<typeof createLoopSwitch>;

/** Creates a loop over one kind of schedule that can be switched on and off. A poke has no effect while it is off. */
export function createLoopSwitch({ ctx, kind, start, work }: LoopSwitchOptions) {
  const store = () => ctx.use("store");
  let loop: DueLoop | undefined;
  return {
    poke: (): void => loop?.poke(),
    on(): void {
      loop ??= start({
        ...work(),
        now: () => store().now(),
        nextDueAt: () => store().schedules.nextDueAt(kind),
        failed: (error) =>
          ctx.log.error(
            { err: error },
            `${ctx.name}: the jobs or polls that are due could not be read`,
          ),
      });
    },
    async off(): Promise<void> {
      const runningLoop = loop;
      loop = undefined;
      await runningLoop?.stop();
    },
  };
}
