/** Blocks of single requests in a real store, also with two gateways on it. */
import { suite } from "../../../support/suite.ts";
import * as assert from "uvu/assert";
import type { NewRequestBlock, RequestRange, Store } from "portico/store";
import { type TemporaryStore, temporaryStore } from "../../store/temporary-store.ts";

const test = suite("blocks of single requests");

let t: TemporaryStore;
let store: Store;
test.before.each(() => {
  t = temporaryStore();
  store = t.store;
});
test.after.each(() => t.remove());

const block = (firstAt: number, lastAt: number, requests = 1): NewRequestBlock => ({
  requests,
  firstAt,
  lastAt,
  lines: `${firstAt}-${lastAt}`,
});
const add = (...blocks: NewRequestBlock[]) => store.usage.append([], { blocks, keep: 1e6 });
async function lines(range: Partial<RequestRange>): Promise<string[]> {
  const blocks = await store.usage.requests({ since: 0, until: 1e9, least: 1e9, ...range });
  return blocks.map((block) => block.lines);
}

test("the latest requests come first, up to the limit, and then the ones before them", async () => {
  await add(block(10, 20, 5), block(30, 40, 5), block(21, 29, 5));
  assert.equal(await lines({}), ["30-40", "21-29", "10-20"]);
  assert.equal(await lines({ least: 5 }), ["30-40"]);
  const two = await store.usage.requests({ since: 0, until: 1e9, least: 6 });
  assert.equal(
    two.map(({ number, requests, lines: text }) => [number, requests, text]),
    [
      [10, 5, "30-40"],
      [15, 5, "21-29"],
    ],
  );
  assert.equal(await lines({ after: two[1] }), ["10-20"]);
  assert.equal(
    await store.usage.requests({
      since: 0,
      until: 1e9,
      least: 1,
      after: { lastAt: 20, number: 5 },
    }),
    [],
  );
});

test("a block that began in the range is listed, however long it is and whenever it ended", async () => {
  await add(block(10, 500_000), block(100, 101), block(600, 601), block(400_000, 400_001));
  assert.equal(await lines({ until: 200 }), ["10-500000", "100-101"]);
  assert.equal(await lines({ since: 101, until: 101 }), ["10-500000", "100-101"]);
  assert.equal(await lines({ since: 500_001 }), []);
  assert.equal(await lines({ until: 9 }), []);
});

test("requests of two gateways never have the same number", async () => {
  const other = t.another();
  const at = () => block(1, 2, 3);
  await Promise.all(
    Array.from({ length: 20 }, (_, i) =>
      (i % 2 ? other : store).usage.append([], { blocks: [at(), at()], keep: 1e6 }),
    ),
  );
  const numbers = (await store.usage.requests({ since: 0, until: 9, least: 1e6 })).map(
    ({ number }) => number,
  );
  assert.equal(
    numbers,
    Array.from({ length: 40 }, (_, i) => 120 - 3 * i),
  );
});

test("whole blocks go once enough newer requests are there, and none comes back", async () => {
  await store.usage.append([], {
    blocks: [block(1, 1, 10), block(2, 2, 10), block(3, 3, 10)],
    keep: 20,
  });
  assert.equal(await lines({}), ["3-3", "2-2"]);
  await store.usage.append([], { blocks: [block(4, 4, 1)], keep: 20 });
  assert.equal(await lines({}), ["4-4", "3-3", "2-2"]);
  await store.usage.append([], { blocks: [], keep: 0 });
  assert.equal(await lines({}), []);
  await store.usage.append([], { blocks: [block(5, 5, 1)], keep: 20 });
  assert.is((await store.usage.requests({ since: 0, until: 9, least: 1 }))[0]?.number, 32);
});

test("blocks expire like the sums", async () => {
  const day = 86_400_000;
  await store.usage.append([{ at: day }, { at: 9 * day }], {
    blocks: [block(day, day), block(day, 9 * day), block(9 * day, 9 * day)],
    keep: 100,
  });
  assert.is(await store.usage.prune(2 * day), 2);
  assert.equal(await lines({ until: 1e12 }), [`${9 * day}-${9 * day}`, `${day}-${9 * day}`]);
  assert.is((await store.usage.sum())[0]?.requests, 1);
});

test("sums alone create no block", async () => {
  await store.usage.append([{ requests: 3 }]);
  assert.equal([(await store.usage.sum())[0]?.requests, await lines({})], [3, []]);
});

test.run();
