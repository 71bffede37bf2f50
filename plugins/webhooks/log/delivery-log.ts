/** The delivery log. Accepted deliveries are stored together with their items, all others from a small buffer. */
import type { PluginContext } from "portico";
import type { NewDelivery } from "portico/store";

const FLUSH_MS = 200;
/** Rows beyond this number within `FLUSH_MS` are dropped and only counted. */
const MAX_WAITING = 200;
const PRUNE_MS = 60_000;

/** Outcomes of requests. Refused ones have a quota of their own, so that callers without credentials displace no others. */
export const ACCEPTED = ["accepted", "duplicate", "skipped", "challenge", "failed"];
export const REFUSED = ["refused", "unauthorized", "limited"];

export interface DeliveryLog {
  /** Adds a row that is written later. It may be lost. */
  add(delivery: NewDelivery): void;
  /** Passes a stored row to the listeners. */
  announce(delivery: NewDelivery): void;
  /** Calls the listener with every new row. Returns the function that removes it. */
  listen(listener: (delivery: NewDelivery & { at: number }) => void): () => void;
  /** Resolves when all added rows are written. Never rejects. */
  flush(): Promise<void>;
}

export interface Quotas {
  keep: number;
  keepRefused: number;
}

export function createDeliveryLog(ctx: PluginContext, quotas: () => Quotas): DeliveryLog {
  let waitingRows: NewDelivery[] = [];
  let droppedCount = 0;
  /** The number of refused requests since the last pruning. */
  let refusedCount = 0;
  const listeners = new Set<(delivery: NewDelivery & { at: number }) => void>();
  let timer: NodeJS.Timeout | undefined;
  let writing = Promise.resolve();

  function flush(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    if (droppedCount > 0)
      ctx.log.warn(
        { dropped: droppedCount },
        "refused requests arrived too fast, so some are missing from the delivery log",
      );
    droppedCount = 0;
    const deliveries = waitingRows;
    waitingRows = [];
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
    refusedCount = 0;
    await deliveries.prune({ keep, outcomes: ACCEPTED });
    await deliveries.prune({ keep: keepRefused, outcomes: REFUSED });
  }

  ctx.task("prune deliveries", { everyMs: PRUNE_MS }, prune);
  ctx.defer(flush);
  function announce(delivery: NewDelivery): void {
    if (listeners.size === 0) return;
    const row = { at: ctx.use("store").now(), ...delivery };
    for (const listener of listeners) listener(row);
  }

  return {
    announce,
    listen(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    add(delivery) {
      announce(delivery);
      const isRefused = REFUSED.includes(delivery.outcome);
      if (
        waitingRows.length >= MAX_WAITING ||
        (isRefused && refusedCount >= quotas().keepRefused)
      ) {
        droppedCount++;
        return;
      }
      if (isRefused) refusedCount++;
      waitingRows.push({ at: ctx.use("store").now(), ...delivery });
      timer ??= setTimeout(() => void flush(), FLUSH_MS).unref();
    },
    flush,
  };
}
