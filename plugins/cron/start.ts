/** Puts the parts together at the first use: a start that needs no jobs yet is not held up by them. */
import type { DueLoop, PluginContext } from "portico";
import { createBook } from "./book.ts";
import { KIND } from "./job.ts";
import { startLoop } from "./loop.ts";
import { declareHookEvent } from "./payload.ts";
import { createOperations, type Operations } from "./operations.ts";
import { createRunner } from "./runner.ts";
import type { CronConfig } from "./schema.ts";
import { createSettler } from "./settle.ts";

const SWEEP_MS = 30_000;

export interface Cron {
  operations: Operations;
  /** Takes a changed configuration; throws where a job of it is wrong. */
  apply(next: CronConfig): Promise<void>;
  stop(): Promise<void>;
}

export async function startCron(ctx: PluginContext, settings: () => CronConfig, zone: () => string): Promise<Cron> {
  const store = () => ctx.use("store");
  let loop: DueLoop | undefined;
  const changed = (): void => loop?.poke();
  const book = createBook({ ctx, zone, changed });
  const settler = createSettler({
    ctx,
    maxErrors: () => settings().maxErrors,
    keepRuns: () => settings().keepRuns,
    drop: book.drop,
  });
  const runner = createRunner({ ctx, settler });

  function run(): void {
    if (!settings().enabled || loop !== undefined) return;
    loop = startLoop({
      now: () => store().now(),
      nextDueAt: () => store().schedules.nextDueAt(KIND),
      run: runner.runDue,
      foresee: runner.foresee,
      wentBack: book.rewindIntervals,
      failed: (error) => ctx.log.error({ err: error }, "cron jobs could not be looked up"),
    });
  }
  async function halt(): Promise<void> {
    const running = loop;
    loop = undefined;
    await running?.stop();
  }
  const stopWatching = store().onWork(`schedule:${KIND}`, changed);

  const wrong = book.problems(settings().jobs);
  for (const error of wrong.values()) ctx.log.error(error.message);
  const undoReadiness = ctx.readiness(() => [...wrong.values()][0]?.message);
  await book.sync(settings().jobs);
  for (const { body } of await book.list()) if (body.payload.kind === "hook") declareHookEvent(ctx, body.payload.event);
  await book.rewindIntervals(store().now());
  const zoneData = process.versions["tz"] ?? "unknown";
  if ((await store().kv.get("cron", "zoneData")) !== zoneData) {
    await book.rereckon(store().now());
    await store().kv.set("cron", "zoneData", zoneData);
  }
  run();

  const guarded = (work: () => Promise<void>) => () =>
    work().catch((error: unknown) => ctx.log.warn({ err: error }, "cron runs could not be looked through"));
  const sweep = guarded(settler.sweep);
  const sweeper = setInterval(sweep, SWEEP_MS).unref();
  const undoEvents = (["agent:completed", "agent:failed"] as const).map((name) =>
    ctx.on(name, ({ context }) => settler.turnEnded(context.turnId), { timeoutMs: 30_000 }),
  );
  void sweep();

  return {
    operations: createOperations({ ctx, book, runner }),
    async apply(next) {
      const [problem] = book.problems(next.jobs).values();
      if (problem) throw problem;
      wrong.clear();
      await book.sync(next.jobs);
      if (next.enabled) run();
      else await halt();
    },
    async stop() {
      clearInterval(sweeper);
      stopWatching();
      await undoReadiness();
      for (const undo of undoEvents) await undo();
      await halt();
    },
  };
}
