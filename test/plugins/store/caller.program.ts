/** A process with the store of a file open, which does what its parent sends: [what, id]. */
import type { PorticoError } from "portico";
import { openStore } from "../../../plugins/store/open.ts";
import { quietLog } from "../../support/quiet-log.ts";

const store = openStore({ url: `file:${process.argv[2]}`, log: quietLog() });

/** What two processes take of together. */
async function narrow(id: string) {
  const { limit } = await store.enqueue({
    dedup: { key: id, ttlMs: 60_000, answer: { id } },
    limit: { key: "both", max: 10, windowMs: 60_000 },
  });
  return { allowed: limit?.allowed };
}

async function enqueue(id: string) {
  const { duplicate } = await store.enqueue({
    dedup: { key: id, ttlMs: 60_000, answer: { id } },
    deliveries: [{ id: `d-${id}`, source: "test", outcome: "accepted" }],
  });
  return { duplicate: duplicate?.answer };
}

async function known(id: string) {
  return {
    known: (await store.known(id))?.answer,
    delivery: (await store.deliveries.get(`d-${id}`))?.id,
  };
}

process.on("message", ([ref, method, id]: [number, string, string]) => {
  const work = {
    open: () => store.open(),
    enqueue: () => enqueue(id),
    narrow: () => narrow(id),
    known: () => known(id),
  }[method];
  void work?.()
    .catch(({ code }: PorticoError) => ({ refused: code }))
    .then((result) => process.send?.([ref, result]));
});
process.once("disconnect", () => void store.close());
