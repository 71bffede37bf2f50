/** The ledger beside a store that fails, and what a key has spent meanwhile. */
import { suite } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import { periodOf } from "portico/models";
import { untilRight } from "../../support/until.ts";
import { record, withLedger } from "./temporary-ledger.ts";

const test = suite("the usage ledger");

test(
  "keeps what the store does not take, says so once, and writes it later",
  withLedger(async ({ ledger, store, readLog, fail }) => {
    fail(true);
    ledger.add(record(1));
    await ledger.flush();
    ledger.add(record(2));
    await ledger.flush();
    assert.equal(readLog(), [
      "usage data cannot be written to the store; the gateway keeps them in memory and tries again",
    ]);
    fail(false);
    await ledger.flush();
    const [sum] = await store.usage.sum();
    assert.equal([sum?.requests, sum?.promptTokens], [2, 3]);
    assert.equal(readLog(), ["usage data can be written again"]);
    await ledger.flush();
    assert.is((await store.usage.sum())[0]?.requests, 2, "nothing is written twice");
  }),
);

test(
  "a reload while the store fails loses nothing, and counts nothing twice",
  withLedger(async ({ ledger, successor, store, fail }) => {
    await ledger.spent({ key: "k" }, 0);
    fail(true);
    ledger.add(record(1_000_000, "k"));
    await ledger.flush();
    const next = successor();
    next.add(record(2_000_000, "k"));
    const ended = ledger.flush();
    assert.is(await next.spent({ key: "k" }, 0), 3);
    await ended;
    fail(false);
    await Promise.all([next.flush(), ledger.flush()]);
    const [sum] = await store.usage.sum();
    const blocks = await store.usage.requests({
      since: 0,
      until: Number.MAX_SAFE_INTEGER,
      least: 10,
    });
    const singles = blocks.reduce((count, { requests }) => count + requests, 0);
    assert.equal([sum?.requests, sum?.cost, singles], [2, 3, 2]);
    assert.is(await next.spent({ key: "k" }, 0), 3);
  }),
);

test(
  "knows what a key has spent, whether or not it is written",
  withLedger(async ({ ledger, store, fail, turn }) => {
    const since = 1_800_000_000_000 - (1_800_000_000_000 % 86_400_000);
    await store.usage.append([
      { key: "k", cost: 1, at: since },
      { key: "k", cost: 5, at: since - 1 },
    ]);
    fail(true);
    ledger.add(record(2_000_000, "k"));
    ledger.add(record(9_000_000));
    await ledger.flush();
    assert.is(await ledger.spent({ key: "k" }, since), 3);
    ledger.add(record(1_000_000, "k"));
    assert.is(await ledger.spent({ key: "k" }, since), 4);
    fail(false);
    await ledger.flush();
    assert.is(await ledger.spent({ key: "k" }, since), 4);
    await store.usage.append([{ key: "k", cost: 10 }]);
    turn(6_000);
    assert.is(
      await ledger.spent({ key: "k" }, since),
      14,
      "what another gateway wrote is seen in time",
    );
    assert.is(await ledger.spent({ key: "nobody" }, since), 0);
    assert.is(await ledger.spent({ channel: "c" }, since), 12, "a channel's, whoever asked");
    ledger.add(record(1_000_000));
    assert.is(await ledger.spent({ channel: "c" }, since), 13);
  }),
);

test(
  "two that share a store know each other's costs as soon as these are written, and begin a day at the same time",
  withLedger(
    async ({ ledger, another, turn, store }) => {
      const other = another({ sharedBy: "gateways" });
      const today = periodOf("day", store.now());
      const both = async (since: number) => [
        await ledger.spent({ key: "k" }, since),
        await other.spent({ key: "k" }, since),
        await other.spent({ channel: "c" }, since),
      ];
      assert.equal(await both(today.start), [0, 0, 0]);
      await ledger.add(record(100_000, "k"));
      await other.add(record(200_000, "k"));
      assert.equal(await both(today.start), [0.3, 0.3, 0.3]);
      turn(today.end - 1 - store.now());
      await other.add(record(300_000, "k"));
      assert.equal(await both(today.start), [0.6, 0.6, 0.6]);
      turn(1);
      const tomorrow = periodOf("day", store.now());
      assert.is(tomorrow.start, today.end);
      assert.equal(await both(tomorrow.start), [0, 0, 0]);
      await ledger.add(record(100_000, "k"));
      assert.equal(await both(tomorrow.start), [0.1, 0.1, 0.1]);
      assert.equal(await both(today.start), [0.7, 0.7, 0.7]);
      const { start } = periodOf("month", store.now());
      const old = { key: "k", channel: "c" };
      await store.usage.append([
        { ...old, cost: 5, at: start },
        { ...old, cost: 7, at: start - 1 },
        { ...old, cost: 0.25, at: today.start - 1 },
      ]);
      assert.equal(await both(start), [5.95, 5.95, 5.95]);
      await other.add(record(50_000, "k"));
      assert.equal(await both(start), [6, 6, 6]);
    },
    { sharedBy: "gateways" },
  ),
);

test(
  "what a budget has paid for is soon on the disk, though nobody waits for it",
  withLedger(async ({ ledger, another, store }) => {
    const { start } = periodOf("month", store.now());
    await ledger.spent({ key: "k" }, start);
    assert.is(ledger.add(record(100_000, "k")), undefined);
    await untilRight(
      () => another().spent({ key: "k" }, start),
      (usd) => usd === 0.1,
    );
  }),
);

test(
  "many requests of one minute become one row",
  withLedger(async ({ ledger, store }) => {
    for (let i = 0; i < 5000; i++) ledger.add(record(1));
    await ledger.flush();
    const rows = await store.usage.sum({ by: ["minute", "model"] });
    assert.equal(
      rows.map(({ requests }) => requests),
      [5000],
    );
  }),
);

test.run();
