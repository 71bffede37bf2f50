/** Makes the gateway not ready for as long as the store is away. */
import { type PluginContext, withDeadline } from "portico";
import type { Store } from "./types.ts";

const EVERY_MS = 5_000;
/** A server that takes connections and answers nothing is away too. */
const LIMIT_MS = 4_000;

export function watchReadiness(ctx: PluginContext, store: Store): void {
  let problem: string | undefined;
  ctx.readiness(() => problem);
  ctx.task("check the store", { everyMs: EVERY_MS }, async () => {
    problem = await problemOf(store);
  });
}

async function problemOf(store: Store): Promise<string | undefined> {
  const late = () => new Error(`The store has not responded for ${LIMIT_MS / 1000} seconds.`);
  try {
    const { ok, problem } = await withDeadline(store.health(true), LIMIT_MS, late);
    return ok ? undefined : (problem ?? "The store does not work.");
  } catch (error) {
    return (error as Error).message;
  }
}
