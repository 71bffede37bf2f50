/**
 * Emits the events of hook payloads. The store writes each as a queue item together with its check, so that a crash
 * loses none.
 */
import type { PluginContext, Principal } from "portico";
import { type ClaimLoop, createClaimLoop } from "portico/schedules";
import type { Claim } from "portico/store";

/** The kind of these items. Each poll has its own lane. */
export const HOOK = "poll-hook";

export interface HookBody {
  event: string;
  context: Record<string, unknown>;
  /** Absent in items of older versions. */
  principal?: Principal;
  /** The id of the check that found the news. */
  runId: string;
}

const TIMEOUT_MS = 60_000;
const LEASE_MS = 15_000;
const MAX_CONCURRENT = 4;
/** An event is given up after this many attempts, because its handlers may crash the process each time. */
const MAX_ATTEMPTS = 3;

export function startHooks(ctx: PluginContext): Pick<ClaimLoop<HookBody>, "stop"> {
  const store = () => ctx.use("store");

  async function emit(claim: Claim<HookBody>): Promise<void> {
    const { event, context, runId, principal = "outside" } = claim.item.body;
    try {
      if (claim.item.attempts > MAX_ATTEMPTS)
        throw new Error(
          `The gateway stopped ${MAX_ATTEMPTS} times during this check. The check will not be tried again.`,
        );
      // The tools are looked up each time, because the cron plugin may have been reloaded.
      const tools = await ctx.use("schedule").load();
      await tools.emitHook(event, context, { timeoutMs: TIMEOUT_MS, principal });
    } catch (error) {
      const { code = "hook_failed", message } = error as Error & { code?: string };
      ctx.log.warn({ err: error, event, run: runId }, "a hook of a poll failed");
      const run = await store().runs.get(runId);
      const failedRun = run && {
        ...run,
        data: { ...(run.data as object), error: `${event}: ${message}` },
      };
      await store().finish(
        claim,
        { state: "dead", error: { code, message } },
        { runs: failedRun && [failedRun] },
      );
      return;
    }
    await store().finish(claim, { state: "done" });
  }

  const loop = createClaimLoop<HookBody>({
    store,
    log: ctx.log,
    kinds: [HOOK],
    leaseMs: LEASE_MS,
    most: () => MAX_CONCURRENT,
    run: (claim) => ctx.busy(emit(claim)),
  });
  loop.start();
  return loop;
}
