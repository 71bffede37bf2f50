/** Percentiles of durations and of times until the first byte: over hours, over gateways, and of rows without times. */
import * as assert from "uvu/assert";
import { percentile } from "../../../plugins/usage/percentile.ts";
import { report } from "../../../plugins/usage/report.ts";
import {
  emptyTimes,
  TIME_BOUNDS_MS,
  timeBucket,
} from "../../../plugins/store/records/usage-times.ts";
import type { Store } from "../../../plugins/store/types.ts";
import { test } from "../../support/suite.ts";
import { record, withLedger } from "./temporary-ledger.ts";

const HOUR_MS = 3_600_000;

function timesOf(...ms: number[]): number[] {
  const times = emptyTimes();
  for (const time of ms) times[timeBucket(time)]! += 1;
  return times;
}

const reportOf = (store: Store, by: "hour"[] = []) =>
  report(store, { from: 0, to: store.now(), by, filter: {} });

test("a percentile is in the bucket of its request", () => {
  assert.is(percentile(emptyTimes(), 0.5), null);
  assert.is(percentile(timesOf(10), 0.5), 5, "half of the way into the first bucket");
  const times = timesOf(...new Array(90).fill(80), ...new Array(10).fill(4000));
  const [p50, p95] = [percentile(times, 0.5), percentile(times, 0.95)];
  assert.ok(p50 !== null && p50 > 50 && p50 <= 100, `${p50}`);
  assert.ok(p95 !== null && p95 > 3500 && p95 <= 5000, `${p95}`);
  assert.is(percentile(timesOf(500_000), 0.5), TIME_BOUNDS_MS.at(-1), "only the bound is known");
});

test(
  "times of several hours and gateways count together, in the row of each hour and in the total",
  withLedger(async ({ ledger, another, store, turn }) => {
    const other = another();
    for (let n = 0; n < 9; n++) await ledger.add(record(1, undefined, { ms: 80, firstByteMs: 20 }));
    await ledger.flush();
    turn(HOUR_MS);
    await other.add(record(1, undefined, { ms: 40_000, firstByteMs: 9000 }));
    await other.flush();
    const { total, rows } = await reportOf(store, ["hour"]);
    assert.is(rows.length, 2);
    const [first, second] = rows;
    assert.ok((first?.p95Ms ?? 0) <= 100);
    assert.ok((second?.p50Ms ?? 0) > 30_000 && (second?.p50Ms ?? 0) <= 45_000);
    assert.ok((total.p50Ms ?? 0) <= 100);
    assert.ok((total.p95Ms ?? 0) > 30_000 && (total.p95Ms ?? 0) <= 45_000);
    assert.ok((total.firstByteP50Ms ?? 0) <= 25);
    assert.ok((total.firstByteP95Ms ?? 0) > 7500 && (total.firstByteP95Ms ?? 0) <= 10_000);
  }),
);

test(
  "requests whose time nobody counted have none, and do not distort the others",
  withLedger(async ({ ledger, store }) => {
    await store.usage.append([{ channel: "c", model: "m", durationMs: 90_000 }]);
    assert.is((await reportOf(store)).total.p50Ms, null);
    await ledger.add(record(1, undefined, { ms: 80, firstByteMs: undefined }));
    await ledger.flush();
    const { total } = await reportOf(store);
    assert.is(total.requests, 2);
    assert.ok((total.p95Ms ?? 0) <= 100);
    assert.is(total.firstByteP50Ms, null);
  }),
);

test(
  "times wait with the sums for a store that fails",
  withLedger(async ({ ledger, store, fail, readLog }) => {
    fail(true);
    await ledger.add(record(1, undefined, { ms: 80 }));
    await ledger.flush();
    await ledger.add(record(1, undefined, { ms: 4000 }));
    await ledger.flush();
    fail(false);
    await ledger.flush();
    assert.ok(readLog().length > 0);
    const [sum] = await store.usage.sum({ withTimes: true });
    assert.equal(sum?.durations, timesOf(80, 4000));
  }),
);

test.run();
