/** Background work of a plugin, again and again. */
import { setTimeout } from "node:timers/promises";
import type { Dispose, Logger, PluginContext } from "../../../contract/index.ts";

export type TaskTimes = Parameters<PluginContext["task"]>[1];

/** Runs never overlap. An error is logged, and the next run comes in time. */
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
  // It ends only when the signal aborts a wait.
  const ended = runRepeatedly().catch(() => {});
  return () => {
    controller.abort();
    return ended;
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
