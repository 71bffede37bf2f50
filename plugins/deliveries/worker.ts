/** Posts what is due, until it has arrived or is dead. */
import { isPorticoError, maskAddress, type PluginContext } from "portico";
import { createClaimLoop } from "portico/schedules";
import { guardedFetch, retryAfterMs } from "portico/egress";
import type { Claim, ClaimOutcome } from "portico/store";
import { guardOf } from "./guard.ts";
import { DELIVERY, type DeliveryBody } from "./message.ts";
import type { Sealing } from "./stored-target.ts";
import type { DeliveriesConfig } from "./schema.ts";
import { signedHeaders } from "./sign.ts";
import { renderDelivery } from "./templates.ts";

const LEASE_MS = 30_000;
const SIDE_BY_SIDE = 8;
const START_AFTER_MS = 70;
const STOP_GRACE_MS = 2_000;
const LONGEST_PAUSE_MS = 3_600_000;

/** What the receiver said, or why there was nothing to hear. */
interface Attempt {
  status?: number;
  retryAfterMs?: number | undefined;
  error?: { code: string; message: string };
  /** Trying again is of no use. */
  final?: boolean;
}

export function startDeliveries(
  ctx: PluginContext,
  settings: () => DeliveriesConfig,
  sealing: Sealing,
): void {
  const store = () => ctx.use("store");

  async function run(claim: Claim<DeliveryBody>, signal: AbortSignal): Promise<void> {
    const { item } = claim;
    const attempt = await post(item.id, item.body, signal);
    if (signal.aborted) {
      await store().finish(claim, {
        state: "retry",
        at: store().now(),
        error: STOPPED,
        interrupted: true,
      });
      return;
    }
    const outcome = outcomeOf(claim, attempt);
    if (!(await store().finish(claim, outcome)) || outcome.state !== "dead") return;
    const { target, message, principal } = item.body;
    const context = {
      deliveryId: item.id,
      url: maskAddress(target.url),
      type: message.type,
      attempts: item.attempts,
    };
    ctx.log.warn({ ...context, error: outcome.error }, "a delivery is given up");
    void ctx.emit("delivery:failed", { ...context, error: outcome.error }, { principal });
  }

  function outcomeOf(
    { item }: Claim,
    { status, error, final, retryAfterMs = 0 }: Attempt,
  ): ClaimOutcome {
    if (error === undefined) return { state: "done", result: { status } };
    if (final || item.failures + 1 >= item.maxAttempts) return { state: "dead", error };
    const { retryMs } = settings();
    const pause = retryMs[Math.min(item.failures, retryMs.length - 1)]!;
    const jittered = pause * (1 + Math.random() * 0.1);
    return {
      state: "retry",
      at: store().now() + Math.max(jittered, Math.min(retryAfterMs, LONGEST_PAUSE_MS)),
      error,
    };
  }

  async function post(
    id: string,
    { target: stored, message, principal }: DeliveryBody,
    signal: AbortSignal,
  ): Promise<Attempt> {
    try {
      const target = sealing.open(stored);
      const { url, headers: own, body } = renderDelivery(target, message);
      const guard = guardOf(ctx, settings(), { target, principal });
      const { status, headers } = await guardedFetch(guard, url, {
        method: "POST",
        headers: {
          "user-agent": "portico",
          ...own,
          ...signedHeaders(id, body, target.secret, Date.now()),
        },
        body,
        redirects: 0,
        headOnly: true,
        timeoutMs: settings().timeoutMs,
        signal,
      });
      if (status >= 200 && status <= 299) return { status };
      const error = { code: `http_${status}`, message: `The receiver answered ${status}.`, status };
      return {
        status,
        error,
        final: status === 410,
        retryAfterMs: retryAfterMs(headers["retry-after"]),
      };
    } catch (failure) {
      if (!isPorticoError(failure))
        return { error: { code: "unreachable", message: String((failure as Error).message) } };
      const { code, message: why, status } = failure;
      // Another gateway at the same store may have the key, and at a start the plugin that holds the target may be late.
      const isFinal = code === "address_blocked" || status === 400;
      return { error: { code, message: why }, final: isFinal };
    }
  }

  const loop = createClaimLoop<DeliveryBody>({
    store,
    log: ctx.log,
    kinds: [DELIVERY],
    leaseMs: LEASE_MS,
    most: () => SIDE_BY_SIDE,
    run,
  });
  const starting = setTimeout(loop.start, START_AFTER_MS).unref();
  ctx.defer(() => {
    clearTimeout(starting);
    return loop.stop({ graceMs: STOP_GRACE_MS });
  });
}

const STOPPED = { code: "shutdown", message: "The gateway was stopped." };
