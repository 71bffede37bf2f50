/** The delivery log: accepted deliveries are written with what they became, all others from a small buffer. */
import type { PluginContext } from "portico";
import type { NewDelivery } from "portico/store";

const FLUSH_MS = 200;
/** More refused requests than this within `FLUSH_MS` are only counted. */
const MOST_WAITING = 200;
const PRUNE_MS = 60_000;

export interface DeliveryLog {
  /** Takes a row that nothing depends on. */
  note(delivery: NewDelivery): void;
  /** Resolves when all that was noted is written. Never rejects. */
  flush(): Promise<void>;
}

export function createDeliveryLog(ctx: PluginContext, keep: () => number): DeliveryLog {
  let waiting: NewDelivery[] = [];
  let dropped = 0;
  let timer: NodeJS.Timeout | undefined;
  let written = Promise.resolve();

  function flush(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    if (dropped > 0) ctx.log.warn({ dropped }, "refused requests came too fast for the delivery log");
    dropped = 0;
    const deliveries = waiting;
    waiting = [];
    if (deliveries.length > 0) written = Promise.all([written, write(deliveries)]).then(() => {});
    return written;
  }

  async function write(deliveries: readonly NewDelivery[]): Promise<void> {
    try {
      await ctx.use("store").enqueue({ deliveries });
    } catch (error) {
      ctx.log.warn({ err: error, lost: deliveries.length }, "the delivery log could not be written");
    }
  }

  ctx.task("prune deliveries", { everyMs: PRUNE_MS }, () => ctx.use("store").deliveries.prune({ keep: keep() }));
  ctx.defer(flush);
  return {
    note(delivery) {
      if (waiting.length >= MOST_WAITING) {
        dropped++;
        return;
      }
      waiting.push({ at: ctx.use("store").now(), ...delivery });
      timer ??= setTimeout(() => void flush(), FLUSH_MS).unref();
    },
    flush,
  };
}
