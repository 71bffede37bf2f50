/** Durable enqueues of many callers against inserts that each sync by themselves. */
import { closeSync, fdatasyncSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { openStore } from "../../plugins/store/open.ts";
import { quietLog } from "../support/quiet-log.ts";
import { temporaryDir } from "../support/temporary.ts";

const CALLERS = 64;
const MS = 2000;

export default async function bench() {
  const dir = temporaryDir("portico-bench-");
  const single = singleSyncs(join(dir, "single"));
  const store = openStore({ url: `file:${join(dir, "bench.db")}`, log: quietLog() });
  await store.open();
  const grouped = await enqueues((n) => item(`g${n}`, `l${n % CALLERS}`));
  const oneLane = await enqueues((n) => item(`o${n}`, "one"));
  const limits = await callsPerSecond(() => store.take("bench", 1, 1_000_000_000, 60_000));
  await store.enqueue({ items: Array.from({ length: 100_000 }, (_, n) => item(`b${n}`, `lane${n}`)) });
  const began = performance.now();
  for (let n = 0; n < 50; n++) {
    const [claim] = await store.claim("bench", 1, 30_000, ["turn"]);
    if (claim) await store.finish(claim, { state: "done" });
  }
  const claimMs = (performance.now() - began) / 50;
  await store.close();
  return {
    name: "store",
    figures: [
      { what: "one sync for each write, bare file", value: single, unit: "writes/s" },
      { what: `durable enqueue, ${CALLERS} callers`, value: grouped, unit: "items/s" },
      {
        what: "durable enqueue, as a multiple",
        value: grouped / single,
        unit: "×",
        limit: 3,
        bound: "min" as const,
        ratioTo: "one sync for each write",
      },
      { what: "durable enqueue into one lane", value: oneLane, unit: "items/s" },
      { what: "rate limit", value: limits, unit: "calls/s" },
      { what: "claim and finish among 100,000 queued", value: claimMs, unit: "ms", limit: 10 },
    ],
  };

  function enqueues(make: (n: number) => ReturnType<typeof item>): Promise<number> {
    let n = 0;
    return callsPerSecond(() => store.enqueue({ items: [make(n++)] }));
  }
}

function item(id: string, lane: string) {
  return { id, lane, kind: "turn", body: { text: "a wake of an ordinary size, with some words in it" } };
}

async function callsPerSecond(call: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  let calls = 0;
  await Promise.all(
    Array.from({ length: CALLERS }, async () => {
      while (performance.now() - began < MS) {
        await call();
        calls++;
      }
    }),
  );
  return (calls / (performance.now() - began)) * 1000;
}

function singleSyncs(file: string): number {
  const handle = openSync(file, "w");
  const began = performance.now();
  let writes = 0;
  for (; performance.now() - began < MS; writes++) {
    writeSync(handle, "a wake of an ordinary size, with some words in it\n");
    fdatasyncSync(handle);
  }
  closeSync(handle);
  return (writes / (performance.now() - began)) * 1000;
}
