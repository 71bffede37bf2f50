/** A settlement counts once, whatever happens while it is being written. */
import * as assert from "uvu/assert";
import { noReservations, Spending } from "../../../../plugins/models/routing/limits/spending.ts";
import { suite } from "../../../support/suite.ts";

const test = suite("spending");

/** A store that counts settlements; `write` decides when, and whether, each is written. */
function storeThat(write: (id: string) => Promise<void>) {
  const settled: string[] = [];
  const reservations = {
    reserve: async () => ({ allowed: true, states: [] }),
    settle: async (id: string) => {
      settled.push(id);
      await write(id);
    },
    extend: async () => {},
  };
  return { spending: spendingOn(reservations), settled };
}

function spendingOn(reservations: object, open = noReservations()): Spending {
  const store = { sharedBy: "gateways", now: Date.now, reservations };
  const services = {
    store: () => store as never,
    pricing: () => undefined,
    gates: () => [],
    channels: () => [],
    log: { error() {} } as never,
  };
  return new Spending(services, open);
}

const CHARGES = [{ key: "key:a:tokens", window: { ms: 60_000 }, amount: 5 }];

test("renewing while a settlement is being written does not write it again", async () => {
  let finish = () => {};
  const promise = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const { spending, settled } = storeThat(() => promise);
  await spending.reserve("r1", []);
  const settling = spending.settle("r1", CHARGES);
  await spending.renew();
  finish();
  await settling;
  await spending.renew();
  assert.equal(settled, ["r1"]);
});

test("a settlement that failed is written once by the next renewal", async () => {
  let isStoreAway = true;
  const { spending, settled } = storeThat(async () => {
    if (isStoreAway) throw new Error("away");
  });
  await spending.reserve("r1", []);
  await spending.settle("r1", CHARGES);
  isStoreAway = false;
  await Promise.all([spending.renew(), spending.renew()]);
  await spending.renew();
  assert.equal(settled, ["r1", "r1"]);
});

test("a reload keeps the reservations of running requests, and settlements that failed", async () => {
  const open = noReservations();
  const holders: string[] = [];
  let isStoreAway = true;
  const settled: string[] = [];
  const reservations = {
    reserve: async ({ holder }: { holder: string }) => {
      holders.push(holder);
      return { allowed: true, states: [] };
    },
    settle: async (id: string) => {
      if (isStoreAway) throw new Error("away");
      settled.push(id);
    },
    extend: async (holder: string) => void holders.push(holder),
  };
  const before = spendingOn(reservations, open);
  await before.reserve("ended", []);
  await before.reserve("running", []);
  await before.settle("ended", CHARGES);
  isStoreAway = false;
  const after = spendingOn(reservations, open);
  await after.renew();
  assert.equal(settled, ["ended"]);
  assert.is(new Set(holders).size, 1, "it extends what the version before has reserved");
  assert.is(holders.length, 3);
  await before.settle("running", CHARGES);
  await after.renew();
  assert.equal(settled, ["ended", "running"]);
  assert.is(holders.length, 3, "nothing runs any more");
});

test.run();
