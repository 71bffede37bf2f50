/** Emits the events of hook payloads. Each is an item of the store, written with its check: a crash loses none. */
import type { PluginContext, Principal } from "portico";
import { type ClaimLoop, createClaimLoop } from "portico/schedules";
import type { Claim } from "portico/store";

/** The kind of these items; a poll is a lane. */
export const HOOK = "poll-hook";

export interface HookBody {
  event: string;
  context: Record<string, unknown>;
  /** Of items of older versions there is none. */
  principal?: Principal;
  /** The check that found it. */
  runId: string;
}

const TIMEOUT_MS = 60_000;
const LEASE_MS = 15_000;
const AT_ONCE = 4;
/** An event whose handlers end the process each time is given up. */
const MOST_ATTEMPTS = 3;

export function startHooks(ctx: PluginContext): Pick<ClaimLoop<HookBody>, "stop"> {
  const store = () => ctx.use("store");

  async function emit(claim: Claim<HookBody>): Promise<void> {
    const { event, context, runId, principal = "outside" } = claim.item.body;
    try {
      if (claim.item.attempts > MOST_ATTEMPTS)
        throw new Error(
          `The gateway stopped ${MOST_ATTEMPTS} times during this check, so it is not tried again.`,
        );
      // Looked up each time: events are declared by the plugin that is loaded now.
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
    most: () => AT_ONCE,
    run: (claim) => ctx.busy(emit(claim)),
  });
  loop.start();
  return loop;
}
