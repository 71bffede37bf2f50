/** A settlement counts once, whatever happens while it is being written. */
import * as assert from "uvu/assert";
import { Spending } from "../../../../plugins/models/routing/limits/spending.ts";
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
  const store = { sharedBy: "gateways", now: Date.now, reservations };
  const spending = new Spending({
    store: () => store as never,
    pricing: () => undefined,
    gates: () => [],
    channels: () => [],
    log: { error() {} } as never,
  });
  return { spending, settled };
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

test.run();
