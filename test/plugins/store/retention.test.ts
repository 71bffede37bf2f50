/** What the store forgets in time: each state by its own setting, and each session's end is told. */
import { suite } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import { applyRetention } from "../../../plugins/store/records/retention.ts";
import type { Retention } from "../../../plugins/store/schema.ts";
import { type TemporaryStore, temporaryStore } from "./temporary-store.ts";

const DAY_MS = 86_400_000;
const never: Retention = {
  itemsDays: 0,
  deadDays: 0,
  deliveriesDays: 0,
  sessionsDays: 0,
  usageDays: 0,
};

const test = suite("retention");
let t: TemporaryStore;
test.before.each(() => {
  t = temporaryStore();
});
test.after.each(() => t.remove());

/** One item in each state that something can end in. */
async function endThree(): Promise<void> {
  const { store } = t;
  await store.enqueue({
    items: ["done", "dead", "cancelled"].map((id) => ({ id, lane: id, kind: "turn", body: {} })),
  });
  await store.items.cancel("cancelled");
  for (const claim of await store.claim("w", 10, 30_000, ["turn"])) {
    const failed = { state: "dead", error: { code: "boom", message: "it failed" } } as const;
    assert.ok(await store.finish(claim, claim.item.id === "dead" ? failed : { state: "done" }));
  }
}

async function left(retention: Partial<Retention>): Promise<string[]> {
  await applyRetention(t.store, { ...never, ...retention }, () => {});
  return (await t.store.items.list()).map(({ id }) => id).sort();
}

test("0 keeps ended items, whatever another setting forgets", async () => {
  await endThree();
  t.clock.now += 400 * DAY_MS;
  assert.equal(await left({}), ["cancelled", "dead", "done"]);
  assert.equal(await left({ deadDays: 90 }), ["cancelled", "done"]);
});

test("a longer time for what is done outlasts a shorter one for what is dead", async () => {
  await endThree();
  t.clock.now += 100 * DAY_MS;
  assert.equal(await left({ itemsDays: 365, deadDays: 90 }), ["cancelled", "done"]);
  t.clock.now += 300 * DAY_MS;
  assert.equal(await left({ itemsDays: 365, deadDays: 0 }), []);
});

test("dead items stay if only done ones are forgotten", async () => {
  await endThree();
  t.clock.now += 20 * DAY_MS;
  assert.equal(await left({ itemsDays: 14, deadDays: 90 }), ["dead"]);
});

test.run();
