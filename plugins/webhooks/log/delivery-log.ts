/** The delivery log: accepted deliveries are written with what they became, all others from a small buffer. */
import type { PluginContext } from "portico";
import type { NewDelivery } from "portico/store";

const FLUSH_MS = 200;
/** More than this within `FLUSH_MS` are only counted. */
const MOST_WAITING = 200;
const PRUNE_MS = 60_000;

/** What became of a request. Refused ones have a quota of their own: so that clients without credentials cannot push out others. */
export const ACCEPTED = ["accepted", "duplicate", "skipped", "challenge", "failed"];
export const REFUSED = ["refused", "unauthorized", "limited"];

export interface DeliveryLog {
  /** Takes a row that nothing depends on. */
  note(delivery: NewDelivery): void;
  /** Tells listeners of a row that is written already. */
  written(delivery: NewDelivery): void;
  /** Calls back with every row as it comes. Returns its undo. */
  listen(listener: (delivery: NewDelivery & { at: number }) => void): () => void;
  /** Resolves when all that was noted is written. Never rejects. */
  flush(): Promise<void>;
}

export interface Quotas {
  keep: number;
  keepRefused: number;
}

export function createDeliveryLog(ctx: PluginContext, quotas: () => Quotas): DeliveryLog {
  let waiting: NewDelivery[] = [];
  let dropped = 0;
  /** Refused ones since the last pruning. */
  let refused = 0;
  const listeners = new Set<(delivery: NewDelivery & { at: number }) => void>();
  let timer: NodeJS.Timeout | undefined;
  let writing = Promise.resolve();

  function flush(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    if (dropped > 0)
      ctx.log.warn({ dropped }, "refused requests arrived too fast for the delivery log");
    dropped = 0;
    const deliveries = waiting;
    waiting = [];
    if (deliveries.length > 0) writing = Promise.all([writing, write(deliveries)]).then(() => {});
    return writing;
  }

  async function write(deliveries: readonly NewDelivery[]): Promise<void> {
    try {
      await ctx.use("store").enqueue({ deliveries });
    } catch (error) {
      ctx.log.warn(
        { err: error, lost: deliveries.length },
        "the delivery log could not be written",
      );
    }
  }

  async function prune(): Promise<void> {
    const { keep, keepRefused } = quotas();
    const { deliveries } = ctx.use("store");
    refused = 0;
    await deliveries.prune({ keep, outcomes: ACCEPTED });
    await deliveries.prune({ keep: keepRefused, outcomes: REFUSED });
  }

  ctx.task("prune deliveries", { everyMs: PRUNE_MS }, prune);
  ctx.defer(flush);
  function tell(delivery: NewDelivery): void {
    if (listeners.size === 0) return;
    const row = { at: ctx.use("store").now(), ...delivery };
    for (const listener of listeners) listener(row);
  }

  return {
    written: tell,
    listen(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    note(delivery) {
      tell(delivery);
      const isRefused = REFUSED.includes(delivery.outcome);
      if (waiting.length >= MOST_WAITING || (isRefused && refused >= quotas().keepRefused)) {
        dropped++;
        return;
      }
      if (isRefused) refused++;
      waiting.push({ at: ctx.use("store").now(), ...delivery });
      timer ??= setTimeout(() => void flush(), FLUSH_MS).unref();
    },
    flush,
  };
}
