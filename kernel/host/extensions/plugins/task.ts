/** Runs the periodic background work of a plugin. */
import { setTimeout } from "node:timers/promises";
import type { Dispose, Logger, PluginContext } from "../../../contract/index.ts";

export type TaskTimes = Parameters<PluginContext["task"]>[1];

/** Starts a task. Its runs never overlap. An error is logged, and the next run follows as scheduled. */
export function startTask(
  log: Logger,
  { everyMs, immediately }: TaskTimes,
  run: (signal: AbortSignal) => unknown,
): Dispose {
  const controller = new AbortController();
  const { signal } = controller;
  const runRepeatedly = async () => {
    let waitMs = immediately ? 0 : everyMs;
    while (!signal.aborted) {
      await setTimeout(waitMs, undefined, { ref: false, signal });
      await runOnce(log, run, signal);
      waitMs = everyMs;
    }
  };
  // The loop ends only when the signal aborts a wait.
  const loop = runRepeatedly().catch(() => {});
  return () => {
    controller.abort();
    return loop;
  };
}

async function runOnce(
  log: Logger,
  run: (signal: AbortSignal) => unknown,
  signal: AbortSignal,
): Promise<void> {
  try {
    await run(signal);
  } catch (error) {
    if (!signal.aborted) log.error({ err: error }, "task failed");
  }
}
