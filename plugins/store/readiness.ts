/** Makes the gateway not ready as long as the store is not available. */
import { type PluginContext, withDeadline } from "portico";
import type { Store } from "./types.ts";

const INTERVAL_MS = 5_000;
/** A server that accepts connections but does not respond within this time is not available. */
const TIMEOUT_MS = 4_000;

export function watchReadiness(ctx: PluginContext, store: Store): void {
  let problem: string | undefined;
  ctx.readiness(() => problem);
  ctx.task("check the store", { everyMs: INTERVAL_MS }, async () => {
    problem = await findProblem(store);
  });
}

async function findProblem(store: Store): Promise<string | undefined> {
  const timeoutError = () =>
    new Error(`The store has not responded for ${TIMEOUT_MS / 1000} seconds.`);
  try {
    const { ok, problem } = await withDeadline(store.health(true), TIMEOUT_MS, timeoutError);
    return ok ? undefined : (problem ?? "The store does not work.");
  } catch (error) {
    return (error as Error).message;
  }
}
