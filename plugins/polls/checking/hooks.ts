/** Emits the events of hook payloads. Each is an item of the store, written with its check: a crash loses none. */
import { randomBytes } from "node:crypto";
import { hostname } from "node:os";
import type { Claim, PluginContext } from "portico";

/** The kind of these items; a poll is a lane. */
export const HOOK = "poll-hook";

export interface HookBody {
  event: string;
  context: Record<string, unknown>;
  /** The check that found it. */
  runId: string;
}

const TIMEOUT_MS = 60_000;
/** Not renewed: it outlasts the handlers. */
const LEASE_MS = TIMEOUT_MS + 15_000;
const AT_ONCE = 4;
/** An event whose handlers end the process each time is given up. */
const MOST_ATTEMPTS = 3;
const LONGEST_SLEEP_MS = 5_000;

/** Works until it is stopped; `stop` resolves when what it had begun is over. */
export function startHooks(ctx: PluginContext): { stop(): Promise<void> } {
  const worker = `polls:${hostname()}:${process.pid}:${randomBytes(4).toString("hex")}`;
  const store = () => ctx.use("store");
  const running = new Set<Promise<void>>();
  let timer: NodeJS.Timeout | undefined;
  let looking: Promise<void> | undefined;
  let again = false;
  let stopped = false;

  function poke(): void {
    again = true;
    if (stopped) return;
    looking ??= look().finally(() => {
      looking = undefined;
      if (again && running.size < AT_ONCE) poke();
    });
  }

  async function look(): Promise<void> {
    clearTimeout(timer);
    let sleepMs = LONGEST_SLEEP_MS;
    try {
      while (again && !stopped && running.size < AT_ONCE) {
        again = false;
        const claims = await store().claim(worker, AT_ONCE - running.size, LEASE_MS, [HOOK]);
        for (const claim of claims) begin(claim as Claim<HookBody>);
      }
      const next = await store().nextWorkAt([HOOK]);
      // With every place taken, the end of one is what wakes this up.
      if (next !== undefined && running.size < AT_ONCE) sleepMs = Math.max(5, next - store().now());
    } catch (error) {
      ctx.log.warn({ err: error }, "could not look for hooks of polls");
    }
    if (!stopped) timer = setTimeout(poke, Math.min(sleepMs, LONGEST_SLEEP_MS)).unref();
  }

  function begin(claim: Claim<HookBody>): void {
    const work = emit(claim)
      .catch((error: unknown) => ctx.log.error({ err: error }, "a hook of a poll could not be ended; it comes again"))
      .finally(() => {
        running.delete(work);
        poke();
      });
    running.add(work);
    void ctx.busy(work);
  }

  async function emit(claim: Claim<HookBody>): Promise<void> {
    const { event, context, runId } = claim.item.body;
    try {
      if (claim.item.attempts > MOST_ATTEMPTS) throw new Error(`The gateway ended ${MOST_ATTEMPTS} times during it.`);
      // Asked for anew: events are declared by the plugin that is loaded now.
      const tools = await ctx.use("schedule").load();
      await tools.emitHook(event, context, TIMEOUT_MS);
    } catch (error) {
      const { code = "hook_failed", message } = error as Error & { code?: string };
      ctx.log.warn({ err: error, event, run: runId }, "a hook of a poll failed");
      const run = await store().runs.get(runId);
      const told = run && { ...run, data: { ...(run.data as object), error: `${event}: ${message}` } };
      await store().finish(claim, { state: "dead", error: { code, message } }, told ? { runs: [told] } : {});
      return;
    }
    await store().finish(claim, { state: "done" });
  }

  const unsubscribe = store().onWork(HOOK, poke);
  poke();
  return {
    async stop() {
      stopped = true;
      unsubscribe();
      clearTimeout(timer);
      await looking;
      await Promise.all(running);
    },
  };
}
