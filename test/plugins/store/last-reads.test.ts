/** What is read again and again is kept until something is written: nobody may see that it is. */
import * as assert from "uvu/assert";
import { test } from "../../support/suite.ts";
import type { Claim, ItemState, Store } from "../../../plugins/store/types.ts";
import { isInFile, random, type TemporaryStore, temporaryStore } from "./temporary-store.ts";

const testOfFile = isInFile() ? test : () => {};
const STATES: ItemState[] = ["queued", "running", "done", "dead", "cancelled"];
const error = { code: "boom", message: "it failed" };
let t: TemporaryStore;
let store: Store;
test.before.each(() => {
  t = temporaryStore();
  store = t.store;
});
test.after.each(() => t.remove());

async function expectCounts(storeOf: Store): Promise<void> {
  const items = await storeOf.items.list({ kind: "turn", limit: 1000 });
  for (const state of STATES) {
    const expected = items.filter((item) => item.state === state).length;
    assert.is(await storeOf.items.count("turn", state), expected, `so many are ${state}`);
  }
  const schedules = await storeOf.schedules.list("cron");
  const failing = schedules.filter(
    ({ state }) => (state as { consecutiveErrors: number }).consecutiveErrors > 0,
  );
  assert.equal(await storeOf.schedules.failing("cron"), failing);
}

test("counts and failures are as the last write left them, over whichever connection that was", async () => {
  const stores = [store, t.another()];
  const next = random(7);
  const pick = <T>(list: readonly T[]): T => list[Math.floor(next() * list.length)] as T;
  let claims: Claim[] = [];
  let ids = 0;
  const writes: ((by: Store) => Promise<unknown>)[] = [
    (by) =>
      by.enqueue({
        items: [{ id: `t${ids++}`, lane: pick(["a", "b", "c"]), kind: "turn", body: 0 }],
      }),
    async (by) => claims.push(...(await by.claim("w", 1, 60_000, ["turn"]))),
    async (by) => {
      const [claim, ...rest] = claims;
      claims = rest;
      if (claim)
        await by.finish(
          claim,
          pick([{ state: "done" as const }, { state: "dead" as const, error }]),
        );
    },
    (by) => by.items.cancel(`t${Math.floor(next() * ids)}`),
    (by) => by.items.replay(`t${Math.floor(next() * ids)}`),
    (by) => {
      const state = { consecutiveErrors: pick([0, 0, 2]) };
      return by.schedules.put({
        kind: "cron",
        id: pick(["x", "y"]),
        enabled: true,
        nextAt: 5,
        body: {},
        state,
      });
    },
    (by) => by.kv.set("n", "k", ids),
  ];
  for (let n = 0; n < (isInFile() ? 60 : 20); n++) {
    const before = await store.items.count("turn", "queued");
    assert.is(await store.items.count("turn", "queued"), before);
    await pick(writes)(pick(stores));
    for (const each of stores) await expectCounts(each);
  }
});

testOfFile(
  "who has had the store alone sees what another process writes from then on",
  async () => {
    const count = () => store.items.count("turn", "queued");
    await store.enqueue({ items: [{ id: "own", lane: "a", kind: "turn", body: 0 }] });
    assert.is(await count(), 1);
    assert.ok(store.inSoleUse());
    const other = t.another();
    for (let n = 2; n < 6; n++) {
      await other.enqueue({ items: [{ id: `t${n}`, lane: "a", kind: "turn", body: 0 }] });
      assert.is(await count(), n);
    }
    assert.not.ok(store.inSoleUse());
  },
);

test("a refused write changes no count, and does not hide the counts of its batch", async () => {
  assert.is(await store.items.count("turn", "queued"), 0);
  const item = (id: string, kind: unknown) => ({ id, lane: "a", kind: kind as string, body: 0 });
  const results = await Promise.allSettled([
    store.enqueue({ items: [item("a", "turn")] }),
    store.enqueue({ items: [item("b", null)] }),
    store.enqueue({ items: [item("c", "turn")] }),
  ]);
  assert.equal(
    results.map(({ status }) => status),
    ["fulfilled", "rejected", "fulfilled"],
  );
  assert.is(await store.items.count("turn", "queued"), 2);
});

test.run();
