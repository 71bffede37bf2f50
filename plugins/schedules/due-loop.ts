import type { PluginContext } from "portico";

/** Wakes at due times. */
export interface DueLoop {
  /** Looks again now: something was added or changed. */
  poke(): void;
  stop(): Promise<void>;
}

/** What is done with what is due. */
export interface DueWork {
  /** Works off what is due. Answers how many made progress; 0 makes the loop wait a moment. */
  run(now: number): Promise<number>;
  /** Called shortly before something comes due, with the time that it may look ahead to. */
  foresee?(until: number): Promise<void>;
  /** The clock went back, so dates that were computed from the current time (`every`) may be too far ahead. */
  wentBack?(now: number): Promise<void>;
}

export interface DueLoopOptions extends DueWork {
  now(): number;
  nextDueAt(): Promise<number | undefined>;
  failed(error: unknown): void;
}

export interface LoopSwitchOptions {
  ctx: PluginContext;
  /** The kind in the store. */
  kind: string;
  /** Such as `startLoop` of the service `schedule`. */
  start(options: DueLoopOptions): DueLoop;
  /** Asked for when the loop starts. */
  work(): DueWork;
}
export type LoopSwitch = ReturnType<typeof createLoopSwitch>;

/** A loop over one kind of schedules that can be switched on and off, and poked whichever it is. */
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
          ctx.log.error({ err: error }, `${ctx.name}: the due entries could not be read`),
      });
    },
    async off(): Promise<void> {
      const running = loop;
      loop = undefined;
      await running?.stop();
    },
  };
}
