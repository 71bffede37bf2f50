/** Single requests on their way through the ledger, a real store and pages. */
import { suite } from "../../../support/suite.ts";
import * as assert from "uvu/assert";
import type { Store } from "portico/store";
import { type RequestPage, requestPage } from "../../../../plugins/usage/requests/page.ts";
import { readRequestsQuery } from "../../../../plugins/usage/requests/query.ts";
import { random } from "../../store/temporary-store.ts";
import { record, withLedger } from "../temporary-ledger.ts";

const test = suite("pages of single requests");
const NOW = 1_800_000_000_000;

const ANY_PRICE = { prices: { "*": { input: 1, output: 0 } } };

const page = (store: Store, query = ""): Promise<RequestPage> =>
  requestPage(store, readRequestsQuery(new URLSearchParams(`to=${NOW * 2}&${query}`), NOW));
const ids = async (store: Store, query = "") =>
  (await page(store, query)).requests.map((request) => request.requestId);

async function allPages(store: Store, query: string): Promise<string[][]> {
  const pages: string[][] = [];
  for (let before = ""; ; ) {
    const { requests, next } = await page(store, query + before);
    pages.push(requests.map((request) => request.requestId));
    if (next === undefined) return pages;
    before = `&before=${next}`;
  }
}

test(
  "everything that is known of a request is kept, and nothing that is not",
  withLedger(async ({ ledger, store, turn }) => {
    const usage = {
      prompt_tokens: 1_500_000,
      completion_tokens: 7,
      total_tokens: 1_500_007,
      prompt_tokens_details: { cached_tokens: 20 },
    };
    ledger.add(
      record(0, "ci", {
        requestId: "req_a",
        usage,
        stream: true,
        attempts: 2,
        ms: 1234.4,
        firstByteMs: 12.6,
      }),
    );
    turn(5);
    const silent = {
      usage: undefined,
      firstByteMs: undefined,
      status: 502,
      requestId: "req_b",
      ms: 0.2,
    };
    ledger.add(record(0, undefined, silent));
    ledger.add(
      record(9, undefined, { requestId: "req_c", model: "unpriced", provider: "a-plugin" }),
    );
    await ledger.flush();
    const owner = { key: null, channel: "c", attempts: 1, stream: false };
    const at = new Date(NOW + 5).toISOString();
    assert.equal(JSON.parse(JSON.stringify((await page(store)).requests)), [
      {
        ...owner,
        requestId: "req_c",
        at,
        model: "unpriced",
        status: 200,
        ms: 1,
        firstByteMs: 1,
        promptTokens: 9,
        completionTokens: 0,
        cachedTokens: 0,
      },
      { ...owner, requestId: "req_b", at, model: "m", status: 502, ms: 0 },
      {
        requestId: "req_a",
        at: new Date(NOW).toISOString(),
        channel: "c",
        model: "m",
        key: "ci",
        status: 200,
        attempts: 2,
        stream: true,
        ms: 1234,
        firstByteMs: 13,
        promptTokens: 1_500_000,
        completionTokens: 7,
        cachedTokens: 20,
        costUsd: 1.5,
      },
    ]);
  }),
);

test(
  "no name and no number breaks a line",
  withLedger(async ({ ledger, store }) => {
    const names = ["a b", "line\nfeed", "100%", "%20", "Ünï/🦜", "", "x".repeat(200)];
    for (const model of names) ledger.add(record(1, undefined, { model }));
    ledger.add(record(1, undefined, { model: "cut off: \ud83e" }));
    ledger.add(record(1, undefined, { model: "long".repeat(100) }));
    ledger.add(
      record(1, undefined, { requestId: "\u010a\u0120", channel: "\u0000", ms: Number.NaN }),
    );
    ledger.add(record(1e300, undefined, { ms: 1e21 }));
    ledger.add(record(5_000_000_000, undefined, { ms: 2 ** 32 }));
    await ledger.flush();
    const { requests } = await page(store);
    assert.equal(
      requests.slice(5).map(({ model }) => model),
      names.toReversed(),
    );
    assert.equal([requests[4]?.model, requests[3]?.model], ["cut off: \ufffd", "long".repeat(50)]);
    assert.equal([requests[2]?.requestId, requests[2]?.channel], ["\u010a\u0120", "\u0000"]);
    assert.equal(
      [requests[1]?.promptTokens, requests[1]?.ms, requests[1]?.costUsd],
      [1e300, 1e21, 1e294],
    );
    assert.equal(
      [requests[0]?.promptTokens, requests[0]?.ms, requests[0]?.costUsd],
      [5e9, 2 ** 32, 5000],
    );
    for (const model of names) {
      const firstPage = await page(store, `model=${encodeURIComponent(model)}`);
      assert.equal(
        firstPage.requests.map((request) => request.model),
        [model],
      );
    }
  }, ANY_PRICE),
);

test(
  "a request whose price list is still loading has its price and its place",
  withLedger(
    async ({ ledger, store, turn }) => {
      ledger.add(record(1_000_000, undefined, { requestId: "waits", model: "gpt-4o-mini" }));
      turn(10);
      ledger.add(record(1_000_000, undefined, { requestId: "free", provider: "echo" }));
      turn(10);
      ledger.add(record(1_000_000, undefined, { requestId: "waits too", model: "gpt-4o-mini" }));
      await ledger.flush();
      const { requests } = await page(store);
      assert.equal(
        requests.map((request) => [
          request.requestId,
          Date.parse(request.at) - NOW,
          request.costUsd,
        ]),
        [
          ["waits too", 20, 0.15],
          ["free", 10, 0],
          ["waits", 0, 0.15],
        ],
      );
    },
    { prices: {} },
  ),
);

/** How far the clock goes before a request: mostly not at all, rarely a minute. */
function stepMs(dice: () => number): number {
  if (dice() < 0.7) return 0;
  return dice() < 0.01 ? 60_000 : Math.floor(dice() * 20);
}

function assertNewestFirst(
  ids: readonly string[],
  at: ReadonlyMap<string, number>,
  query: string,
): void {
  for (let i = 1; i < ids.length; i++)
    assert.ok(at.get(ids[i - 1]!)! >= at.get(ids[i]!)!, `${query}: ${i}`);
}

test(
  "pages of two gateways whose blocks overlap have each request once, in its order",
  withLedger(async ({ ledger, store, turn, another }) => {
    const dice = random(7);
    const gateways = [ledger, another()];
    const wanted: { id: string; at: number }[] = [];
    let now = NOW;
    for (let i = 0; i < 3000; i++) {
      const step = stepMs(dice);
      turn(step);
      now += step;
      const target = gateways[dice() < 0.7 ? 0 : 1]!;
      const id = `r${i}`;
      wanted.push({ id, at: now });
      target.add(record(1, undefined, { requestId: id, status: i % 50 === 0 ? 503 : 200 }));
      if (dice() < (target === ledger ? 0.1 : 0.01)) await target.flush();
    }
    for (const ledger of gateways) await ledger.flush();
    const at = new Map(wanted.map((expected) => [expected.id, expected.at]));
    for (const [query, size, count] of [
      ["limit=100", 100, 3000],
      ["limit=1000", 1000, 3000],
      ["limit=7&status=503", 7, 60],
      ["limit=7&status=5xx", 7, 60],
    ] as const) {
      const pages = await allPages(store, query);
      const listed = pages.flat();
      assert.is(pages.length, Math.ceil(count / size), query);
      assert.is(new Set(listed).size, count, query);
      assert.is(listed.length, count, query);
      assertNewestFirst(listed, at, query);
    }
    const half = NOW + Math.floor((now - NOW) / 2);
    const range = readRequestsQuery(new URLSearchParams(`from=${NOW}&to=${half}&limit=1000`), now);
    const first = await requestPage(store, range);
    assert.equal(
      first.requests.map((request) => Date.parse(request.at)),
      wanted
        .map((expected) => expected.at)
        .filter((time) => time <= half)
        .toSorted((a, b) => b - a)
        .slice(0, 1000),
    );
  }),
);

test(
  "requests of one millisecond in blocks that are read one after the other keep their order",
  withLedger(async ({ ledger, store, turn, another }) => {
    const add = (target: typeof ledger, requestId: string, status = 503) =>
      target.add(record(1, undefined, { requestId, status }));
    add(ledger, "a");
    add(ledger, "b");
    turn(1);
    add(ledger, "later");
    await ledger.flush();
    turn(-1);
    const other = another();
    add(other, "c");
    await other.flush();
    for (let i = 0; i < 2000; i++) add(other, "much else", 200);
    await other.flush();
    assert.equal(await allPages(store, "status=503&limit=2"), [
      ["later", "c"],
      ["b", "a"],
    ]);
  }),
);

test(
  "what is asked for by model, channel, key and status is all that is shown",
  withLedger(async ({ ledger, store, turn }) => {
    ledger.add(record(1, "ci", { requestId: "a", status: 429 }));
    turn(1);
    ledger.add(
      record(1, "ci", { requestId: "b", model: "unpriced", provider: "a-plugin", channel: "d" }),
    );
    turn(1);
    ledger.add(record(1, undefined, { requestId: "c", status: 404 }));
    ledger.add(record(1, undefined, { requestId: "nowhere", channel: "" }));
    await ledger.flush();
    for (const [query, wanted] of [
      ["", "c b a"],
      ["key=ci", "b a"],
      ["key=", "c"],
      ["model=unpriced", "b"],
      ["channel=d&key=ci", "b"],
      ["channel=d&model=m", ""],
      ["status=4xx", "c a"],
      ["status=429", "a"],
      [`from=${NOW + 1}`, "c b"],
      [`since=1h`, "c b a"],
    ] as const) {
      assert.is((await ids(store, query)).join(" "), wanted, query);
    }
  }),
);

test(
  "a store that fails loses none of some thousands, then the oldest, and the log says so once",
  withLedger(async ({ ledger, store, readLog, fail, turn }) => {
    fail(true);
    let count = 0;
    const add = (many: number) => {
      for (let i = 0; i < many; i++) {
        ledger.add(record(1, undefined, { requestId: `r${count++}` }));
        if (i % 100 === 0) turn(1);
      }
    };
    add(3);
    await ledger.flush();
    add(20_000);
    await ledger.flush();
    assert.equal(readLog(), [
      "usage data cannot be written to the store; the gateway keeps them in memory and tries again",
    ]);
    fail(false);
    await ledger.flush();
    assert.equal(await ids(store, "limit=3"), ["r20002", "r20001", "r20000"]);
    assert.is((await allPages(store, "limit=1000")).flat().length, 20_003);

    fail(true);
    readLog();
    add(40_000);
    await ledger.flush();
    add(40_000);
    await ledger.flush();
    add(100);
    await ledger.flush();
    assert.equal(
      readLog().map((line) => line.slice(0, 24)),
      ["usage data cannot be wri", "the records of the oldes"],
    );
    fail(false);
    await ledger.flush();
    const remaining = new Set(
      (await allPages(store, "limit=1000")).flat().map((id) => Number(id.slice(1))),
    );
    const oldest = [...remaining].filter((n) => n >= 20_003).reduce((a, b) => Math.min(a, b));
    assert.ok(count - oldest <= 50_000 && count - oldest > 45_000, `${count - oldest} waited`);
    assert.is(remaining.size, 20_003 + count - oldest, "only the oldest went");
    assert.is((await store.usage.sum())[0]?.requests, count, "the sums have all of them");
    await ledger.flush();
    assert.is(
      (await allPages(store, "limit=1000")).flat().length,
      remaining.size,
      "nothing is written twice",
    );
  }),
);

test(
  "no more than the cap asks for is kept, in blocks",
  withLedger(
    async ({ ledger, store }) => {
      for (let i = 0; i < 30; i++) {
        for (let k = 0; k < 5; k++) ledger.add(record(1, undefined, { requestId: `r${i}.${k}` }));
        await ledger.flush();
      }
      const remaining = await ids(store);
      assert.equal([remaining.length, remaining.at(-1)], [15, "r27.0"]);
      assert.is((await store.usage.sum())[0]?.requests, 150);
    },
    { keep: 12 },
  ),
);

test(
  "a cap of nothing keeps none, nor what another cap had left",
  withLedger(async ({ ledger, store, another }) => {
    ledger.add(record(1));
    await ledger.flush();
    assert.is((await ids(store)).length, 1);
    const none = another({ keep: 0 });
    none.add(record(1));
    await none.flush();
    assert.equal(await ids(store), []);
    assert.is((await store.usage.sum())[0]?.requests, 2);
  }),
);

test.run();
