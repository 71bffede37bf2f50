import { test } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import type { ReservationRequest, Store } from "../../../plugins/store/types.ts";
import { type TemporaryStore, temporaryStore } from "./temporary-store.ts";

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
const START = 1_800_000_000_000 - (1_800_000_000_000 % DAY);

let t: TemporaryStore;
let store: Store;
test.before.each(() => {
  t = temporaryStore({ start: START + DAY / 2 });
  store = t.store;
});
test.after.each(() => t.remove());

const period = { start: START, end: START + DAY, usageOf: { key: "k" } };
const usd = (amount: number, more: Partial<ReservationRequest> = {}): ReservationRequest => ({
  key: "key:k:usd",
  window: period,
  max: 4,
  amount,
  ...more,
});
const tokens = (amount: number, more: Partial<ReservationRequest> = {}): ReservationRequest => ({
  key: "key:k:tokens",
  window: { ms: MINUTE },
  max: 100,
  amount,
  ...more,
});
const reserve = (id: string, ...requests: ReservationRequest[]) =>
  store.reservations.reserve({ id, holder: "one", ttlMs: 30_000 }, requests);

test("of many concurrent requests, as many as fit are admitted, over all gateways that share the store", async () => {
  const stores = [store, t.another()];
  const results = await Promise.all(
    Array.from({ length: 60 }, (_, i) =>
      stores[i % 2]!.reservations.reserve({ id: `r${i}`, holder: `h${i % 2}`, ttlMs: 30_000 }, [
        usd(1),
        tokens(10, { max: 1000 }),
      ]),
    ),
  );
  assert.is(results.filter(({ allowed }) => allowed).length, 4);
  const { refused } = results.find(({ allowed }) => !allowed)!;
  assert.equal([refused?.key, refused?.reserved, refused?.isUsedUp], ["key:k:usd", 4, false]);
});

test("sums of fractions fill a limit exactly", async () => {
  for (let i = 0; i < 10; i++)
    assert.ok((await reserve(`r${i}`, usd(0.1, { max: 1 }))).allowed, `the ${i + 1}th`);
  assert.not((await reserve("more", usd(0.1, { max: 1 }))).allowed);
});

test("a request that exceeds one limit reserves nothing of the others", async () => {
  assert.not((await reserve("a", usd(1), tokens(101))).allowed);
  const { states } = await reserve("b", usd(4), tokens(100));
  assert.equal(
    states.map(({ used, reserved }) => [used, reserved]),
    [
      [0, 4],
      [0, 100],
    ],
  );
});

test("settling releases the reservation and charges the use", async () => {
  await reserve("a", usd(3), tokens(80));
  await store.reservations.settle("a", [
    { key: "key:k:usd", window: period, amount: 0.5 },
    { key: "key:k:tokens", window: { ms: MINUTE }, amount: 30 },
  ]);
  const { allowed, states } = await reserve("b", usd(3.5), tokens(70));
  assert.ok(allowed);
  assert.equal(
    states.map(({ used }) => used),
    [0.5, 30],
  );
  await store.reservations.settle("b", []);
  assert.ok((await reserve("c", usd(3.5))).allowed, "a failed request costs nothing");
});

test("another reservation of the same request replaces the first", async () => {
  await reserve("a", usd(3), tokens(80));
  const { allowed, states } = await reserve("a", usd(4));
  assert.equal([allowed, states[0]?.reserved], [true, 4]);
  assert.ok((await reserve("b", tokens(100))).allowed, "what it holds no more is free");
  assert.not((await reserve("a", usd(5))).allowed);
  assert.ok((await reserve("c", usd(4))).allowed, "one that is refused holds nothing");
});

test("tokens leave their window, money stays until its period ends", async () => {
  await store.reservations.settle("a", [
    { key: "key:k:usd", window: period, amount: 4 },
    { key: "key:k:tokens", window: { ms: MINUTE }, amount: 500 },
  ]);
  const late = await reserve("b", tokens(1));
  assert.not(late.allowed);
  assert.ok(late.refused!.retryAfterMs > MINUTE / 2 && late.refused!.retryAfterMs <= MINUTE + 600);
  const spent = await reserve("b", usd(0));
  assert.equal([spent.refused?.isUsedUp, spent.refused?.retryAfterMs], [true, DAY / 2]);
  t.clock.now += MINUTE + 1000;
  assert.ok((await reserve("c", tokens(100))).allowed);
  assert.not((await reserve("d", usd(0.01))).allowed);
  const next = { start: START + DAY, end: START + 2 * DAY, usageOf: { key: "k" } };
  assert.ok((await reserve("e", usd(4, { window: next }))).allowed);
});

test("a new counter begins with the costs of its key or channel in the usage", async () => {
  await store.usage.append([
    { key: "k", channel: "c", cost: 1.5 },
    { key: "k", channel: "d", cost: 1.5, at: START - 1 },
    { key: "other", channel: "c", cost: 2 },
  ]);
  assert.is((await reserve("a", usd(1))).states[0]?.used, 1.5);
  const channel = usd(0.5, {
    key: "channel:c:usd",
    window: { ...period, usageOf: { channel: "c" } },
  });
  assert.is((await reserve("b", channel)).states[0]?.used, 3.5);
  await store.usage.append([{ key: "k", channel: "c", cost: 1 }]);
  assert.is((await reserve("c", usd(0))).states[0]?.used, 1.5, "what is settled is not read twice");
});

test("reservations of a dead process are removed, and those of a living one stay", async () => {
  await reserve("a", usd(3));
  await store.reservations.reserve({ id: "b", holder: "two", ttlMs: 30_000 }, [usd(1)]);
  t.clock.now += 20_000;
  await store.reservations.extend("two", 30_000);
  t.clock.now += 20_000;
  const { allowed, states } = await reserve("c", usd(3));
  assert.equal([allowed, states[0]?.reserved], [true, 4]);
  await store.sweep();
  assert.not((await reserve("d", usd(0.5))).allowed);
});

test("an estimate that exceeds the whole limit is admitted alone while something is left", async () => {
  const guess = tokens(1100, { isGuess: true });
  assert.not((await reserve("strict", tokens(1100))).allowed, "what the caller asked for itself");
  assert.ok((await reserve("a", guess)).allowed);
  assert.not((await reserve("b", guess)).allowed, "beside another one");
  await store.reservations.settle("a", [
    { key: "key:k:tokens", window: { ms: MINUTE }, amount: 60 },
  ]);
  assert.ok((await reserve("b", guess)).allowed);
  await store.reservations.settle("b", [
    { key: "key:k:tokens", window: { ms: MINUTE }, amount: 60 },
  ]);
  assert.not((await reserve("c", guess)).allowed);
});

test.run();
