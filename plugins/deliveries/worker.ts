/** Posts due deliveries until they have arrived or are dead. */
import { isPorticoError, maskAddress, type PluginContext } from "portico";
import { createClaimLoop } from "portico/schedules";
import { guardedFetch, retryAfterMs } from "portico/egress";
import type { Claim, ClaimOutcome, ItemError } from "portico/store";
import { createDeliveryGuard } from "./guard.ts";
import { DELIVERY, type DeliveryBody } from "./message.ts";
import type { Sealing } from "./stored-target.ts";
import type { DeliveriesConfig } from "./schema.ts";
import { createSignedHeaders } from "./sign.ts";
import { renderDelivery } from "./templates.ts";

const LEASE_MS = 30_000;
const MAX_CONCURRENT = 8;
const START_DELAY_MS = 70;
const STOP_GRACE_MS = 2_000;
const MAX_PAUSE_MS = 3_600_000;
/** A delivery waits this long for a gateway that has its secrets before its attempts count as failures. */
const SECRETS_WAIT_MS = 24 * 3_600_000;
/** A key that is copied into the home takes effect within this time. */
const MAX_SECRETS_PAUSE_MS = 60_000;
const KEY_UNKNOWN = "delivery_key_unknown";
const SECRET_GONE = "delivery_secret_gone";

/** The result of one attempt: the receiver's status, or the reason why there is none. */
interface Attempt {
  status?: number;
  retryAfterMs?: number | undefined;
  error?: { code: string; message: string };
  /** True if a retry cannot succeed. */
  isFinal?: boolean;
}

export function startDeliveries(
  ctx: PluginContext,
  settings: () => DeliveriesConfig,
  sealing: Sealing,
): void {
  const sender = new Sender(ctx, settings, sealing);
  const loop = createClaimLoop<DeliveryBody>({
    store: () => ctx.use("store"),
    log: ctx.log,
    kinds: [DELIVERY],
    leaseMs: LEASE_MS,
    most: () => MAX_CONCURRENT,
    run: (claim, signal) => sender.run(claim, signal),
  });
  const startTimer = setTimeout(loop.start, START_DELAY_MS).unref();
  ctx.defer(() => {
    clearTimeout(startTimer);
    return loop.stop({ graceMs: STOP_GRACE_MS });
  });
}

/** Makes one attempt of a claimed delivery, and writes the outcome to the store. */
class Sender {
  readonly #ctx: PluginContext;
  readonly #settings: () => DeliveriesConfig;
  readonly #sealing: Sealing;

  constructor(ctx: PluginContext, settings: () => DeliveriesConfig, sealing: Sealing) {
    this.#ctx = ctx;
    this.#settings = settings;
    this.#sealing = sealing;
  }

  async run(claim: Claim<DeliveryBody>, signal: AbortSignal): Promise<void> {
    const { item } = claim;
    const attempt = await this.#post(item.id, item.body, signal);
    const store = this.#ctx.use("store"); // the store may have been reloaded during the attempt
    if (signal.aborted) {
      const at = store.now();
      await store.finish(claim, { state: "retry", at, error: STOPPED, interrupted: true });
      return;
    }
    const outcome = this.#decideOutcome(claim, attempt);
    const isWritten = await store.finish(claim, outcome);
    if (isWritten && outcome.state === "dead") this.#report(item, outcome.error);
  }

  #report(
    { id, body, attempts }: Claim<DeliveryBody>["item"],
    error: { code: string; message: string },
  ): void {
    const { target, message, principal } = body;
    const url = maskAddress(target.url);
    const context = { deliveryId: id, url, type: message.type, attempts };
    this.#ctx.log.warn({ ...context, error }, "A delivery has failed for good.");
    void this.#ctx.emit("delivery:failed", { ...context, error }, { principal });
  }

  #decideOutcome(
    { item }: Claim,
    { status, error, isFinal, retryAfterMs = 0 }: Attempt,
  ): ClaimOutcome {
    if (error === undefined) return { state: "done", result: { status } };
    if (this.#isForAnother(item, error)) return this.#leaveToAnother(item, error);
    if (isFinal || item.failures + 1 >= item.maxAttempts) return { state: "dead", error };
    const { retryMs } = this.#settings();
    const pause = retryMs[Math.min(item.failures, retryMs.length - 1)]!;
    const jittered = pause * (1 + Math.random() * 0.1);
    const waitMs = Math.max(jittered, Math.min(retryAfterMs, MAX_PAUSE_MS));
    return { state: "retry", at: this.#ctx.use("store").now() + waitMs, error };
  }

  /**
   * Returns whether only another gateway can open the claimed delivery: it may have the key, or the entry of the
   * configuration that holds the secrets. That is no failure of the receiver.
   */
  #isForAnother({ createdAt }: Claim["item"], { code }: ItemError): boolean {
    const store = this.#ctx.use("store");
    if (store.now() - createdAt >= SECRETS_WAIT_MS) return false;
    return code === KEY_UNKNOWN || (code === SECRET_GONE && store.sharedBy === "gateways");
  }

  #leaveToAnother({ attempts }: Claim["item"], error: ItemError): ClaimOutcome {
    const { retryMs } = this.#settings();
    const pause = retryMs[Math.min(attempts, retryMs.length) - 1] ?? MAX_SECRETS_PAUSE_MS;
    const waitMs = Math.min(pause, MAX_SECRETS_PAUSE_MS) * (1 + Math.random() * 0.1);
    const at = this.#ctx.use("store").now() + waitMs;
    return { state: "retry", at, error, interrupted: true };
  }

  async #post(id: string, body: DeliveryBody, signal: AbortSignal): Promise<Attempt> {
    try {
      const { status, headers } = await this.#send(id, body, signal);
      if (status >= 200 && status <= 299) return { status };
      const error = {
        code: `http_${status}`,
        message: `The receiver responded with ${status}.`,
        status,
      };
      const isGone = status === 410;
      return {
        status,
        error,
        isFinal: isGone,
        retryAfterMs: retryAfterMs(headers["retry-after"]),
      };
    } catch (failure) {
      if (!isPorticoError(failure))
        return { error: { code: "unreachable", message: String((failure as Error).message) } };
      const { code, message, status } = failure;
      // Missing secrets are not final: another gateway may have the key, and at a start the owner of the target may be late.
      const isFinal = code === "address_blocked" || status === 400;
      return { error: { code, message }, isFinal };
    }
  }

  #send(id: string, { target: stored, message, principal }: DeliveryBody, signal: AbortSignal) {
    const settings = this.#settings();
    const target = this.#sealing.open(stored);
    const { url, headers, body } = renderDelivery(target, message);
    return guardedFetch(createDeliveryGuard(this.#ctx, settings, { target, principal }), url, {
      method: "POST",
      headers: {
        "user-agent": "portico",
        ...headers,
        ...createSignedHeaders(id, body, target.secret, Date.now()),
      },
      body,
      redirects: 0,
      headOnly: true,
      timeoutMs: settings.timeoutMs,
      signal,
    });
  }
}

const STOPPED = { code: "shutdown", message: "The gateway was stopped." };
