import { execFile } from "node:child_process";
import { copyFileSync, existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { test } from "../../support/suite.ts";
import Libsql from "libsql";
import * as assert from "uvu/assert";
import { emptyTimes, TIME_BOUNDS_MS } from "../../../plugins/store/records/usage-times.ts";
import { openStore } from "../../../plugins/store/open.ts";
import { migrations } from "../../../plugins/store/sql/migrations.ts";
import type { Store } from "../../../plugins/store/types.ts";
import { quietLog } from "../../support/quiet-log.ts";
import { program } from "../../support/runner/bundle.ts";
import { until } from "../../support/until.ts";
import { fill, isInFile, random, type TemporaryStore, temporaryStore } from "./temporary-store.ts";

const sqliteOf = (part: string): string =>
  part
    .replace("{serial}", "INTEGER PRIMARY KEY AUTOINCREMENT")
    .replace("{waiting}", "state = 'queued'");
const testOfFile = isInFile() ? test : () => {};
let t: TemporaryStore;
let store: Store;
test.before.each(() => {
  t = temporaryStore();
  store = t.store;
});
test.after.each(() => t.remove());

testOfFile("nothing is opened before it is used", async () => {
  assert.not(existsSync(t.file));
  await store.kv.get("n", "k");
  assert.ok(existsSync(t.file));
});

test("one of two gateways takes a slot of a schedule, with its work", async () => {
  const other = t.another();
  const nextAt = t.clock.now + 1000;
  await store.schedules.put({
    kind: "cron",
    id: "j",
    enabled: true,
    nextAt,
    body: { expr: "* * * * *" },
  });
  assert.equal(await store.schedules.due("cron", t.clock.now, 10), []);
  assert.is(await store.schedules.nextDueAt("cron"), nextAt);
  t.clock.now += 1000;
  assert.is((await other.schedules.due("cron", t.clock.now, 10)).length, 1);
  const slot = { kind: "cron", id: "j", expectedNext: nextAt, next: nextAt + 60_000 };
  const results = await Promise.all(
    [store, other].map((each, n) =>
      each.tick(
        { ...slot, state: { by: n } },
        { items: [{ id: `t${n}`, lane: "l", kind: "turn", body: n }] },
      ),
    ),
  );
  assert.is(results.filter((rev) => rev !== undefined).length, 1);
  assert.is((await store.items.list({ kind: "turn" })).length, 1);
  assert.is((await store.schedules.get("cron", "j"))?.nextAt, nextAt + 60_000);
});

test("a one-shot schedule disables itself; a disabled one is never due", async () => {
  await store.schedules.put({ kind: "cron", id: "j", enabled: true, nextAt: 5, body: {} });
  assert.type(
    await store.tick({ kind: "cron", id: "j", expectedNext: 5, next: null, enabled: false }),
    "number",
  );
  assert.equal(await store.schedules.due("cron", t.clock.now, 10), []);
  assert.is(await store.schedules.nextDueAt("cron"), undefined);
  assert.not((await store.schedules.get("cron", "j"))?.enabled);
});

test("schedules whose last run failed are found by their state, whatever their errors quote", async () => {
  const put = (id: string, state?: object) =>
    store.schedules.put({
      kind: "cron",
      id,
      enabled: true,
      nextAt: 5,
      body: { consecutiveErrors: 3 },
      state,
    });
  await put("new");
  await put("fine", { slotAt: 1, consecutiveErrors: 0, lastError: '"consecutiveErrors":1' });
  await put("failing", {
    slotAt: 1,
    consecutiveErrors: 1,
    lastError: 'it said {"consecutiveErrors":0}',
  });
  await put("often", { consecutiveErrors: 10 });
  await store.schedules.put({
    kind: "poll",
    id: "other",
    enabled: true,
    nextAt: 5,
    body: {},
    state: { consecutiveErrors: 1 },
  });
  const failing = await store.schedules.failing("cron");
  assert.equal(
    failing.map(({ id }) => id),
    ["failing", "often"],
  );
});

test("a poll's cursor and its events are written together, by one of two gateways", async () => {
  const first = await store.schedules.put({
    kind: "poll",
    id: "p",
    enabled: true,
    nextAt: 5,
    body: {},
  });
  const expectedRev = first?.rev as number;
  const commit = {
    kind: "poll",
    id: "p",
    expectedRev,
    next: 60,
    state: { checks: 1 },
    cursor: ["a", "b"],
  };
  const item = (id: string) => ({ items: [{ id, lane: "l", kind: "turn", body: id }] });
  assert.is(await store.commitSchedule(commit, item("e1")), expectedRev + 1);
  assert.is(await store.commitSchedule(commit, item("e2")), undefined);
  assert.is(await store.items.get("e2"), undefined);
  assert.equal(await store.schedules.cursor("poll", "p"), ["a", "b"]);
  assert.equal((await store.schedules.list("poll"))[0]?.state, { checks: 1 });
});

test("a slot that a worker has leased is due again once that worker is known to be dead", async () => {
  const now = store.now();
  const schedule = { kind: "poll", id: "p", enabled: true, nextAt: now, body: {} };
  await store.schedules.put(schedule);
  const lease = { worker: "w", dueAt: now };
  const slot = { kind: "poll", id: "p", expectedNext: now, next: now + 30_000, lease };
  const rev = await store.tick(slot);
  assert.equal(await store.workers(), ["w"]);
  assert.equal(await store.schedules.due("poll", now, 5), []);
  const renewal = { kind: "poll", id: "p", expectedRev: rev!, next: now + 60_000, lease };
  const renewed = await store.commitSchedule(renewal);
  assert.is((await store.schedules.get("poll", "p"))?.nextAt, now + 60_000);
  assert.is(await store.abandon("other"), 0);
  assert.is(await store.abandon("w"), 1);
  assert.equal(await store.workers(), []);
  assert.equal(
    (await store.schedules.due("poll", now, 5)).map(({ id }) => id),
    ["p"],
  );
  const late = { kind: "poll", id: "p", expectedRev: renewed!, next: now + 1 };
  assert.is(await store.commitSchedule(late), undefined, "the dead worker lives, and is refused");
  const again = await store.tick({ ...slot, lease: { worker: "v", dueAt: now } });
  await store.commitSchedule({ kind: "poll", id: "p", expectedRev: again!, next: now + 9 });
  assert.equal(await store.workers(), [], "a commit ends the lease");
});

test("an edit with an old revision is refused; state and cursor survive an edit", async () => {
  const put = (name: string, rev?: number) =>
    store.schedules.put({ kind: "poll", id: "p", name, enabled: true, nextAt: 5, body: {} }, rev);
  await put("one");
  await store.commitSchedule({
    kind: "poll",
    id: "p",
    expectedRev: 1,
    next: 9,
    state: { n: 1 },
    cursor: [1],
  });
  assert.is(await put("two", 1), undefined);
  assert.is((await put("two", 2))?.name, "two");
  assert.equal((await store.schedules.get("poll", "p"))?.state, { n: 1 });
  assert.equal(await store.schedules.cursor("poll", "p"), [1]);
  assert.ok(await store.schedules.delete("poll", "p"));
});

for (const max of [3, 100, 5000]) {
  test(`never more than ${max} in any window, whatever the rhythm`, async () => {
    const windowMs = 10_000;
    const next = random(max);
    const accepted: number[] = [];
    for (let n = 0; n < 800; n++) {
      t.clock.now += Math.floor(next() ** 3 * (windowMs / 20));
      const cost = 1 + Math.floor(next() * Math.max(1, max / 40));
      const result = await store.take("k", cost, max, windowMs);
      const inWindow = accepted.filter((at) => at > t.clock.now - windowMs).length;
      if (result.allowed) accepted.push(...Array.from({ length: cost }, () => t.clock.now));
      else assert.ok(result.retryAfterMs > 0 && result.retryAfterMs <= windowMs + windowMs / 50);
      if (result.allowed) assert.ok(inWindow + cost <= max, `${inWindow} + ${cost} of ${max}`);
      else if (max <= 1000)
        assert.ok(inWindow + cost > max - max / 10, "refused far below the limit");
    }
    assert.ok(accepted.length > max, "the limit must open again");
  });
}

test("a refused caller is admitted after Retry-After, and not before", async () => {
  for (let n = 0; n < 3; n++) assert.ok((await store.take("k", 1, 3, 1000)).allowed);
  const refused = await store.take("k", 1, 3, 1000);
  assert.equal([refused.allowed, refused.remaining, refused.limit], [false, 0, 3]);
  t.clock.now += refused.retryAfterMs - 1;
  assert.not((await store.take("k", 1, 3, 1000)).allowed);
  t.clock.now += 1;
  assert.ok((await store.take("k", 1, 3, 1000)).allowed);
});

test("a clock that steps back an hour locks nobody out for an hour", async () => {
  for (let n = 0; n < 3; n++) await store.take("k", 1, 3, 1000);
  t.clock.now -= 3_600_000;
  const refused = await store.take("k", 1, 3, 1000);
  assert.not(refused.allowed);
  t.clock.now += 1002;
  assert.ok((await store.take("k", 1, 3, 1000)).allowed);
});

test("rate limits hold over a restart", async () => {
  await store.take("k", 3, 3, 60_000);
  await store.close();
  const again = t.another();
  assert.not((await again.take("k", 1, 3, 60_000)).allowed);
});

test("of several callers that add one key, one succeeds, and the key is free again once it is removed or expired", async () => {
  const add = (value: number) => store.kv.add("a", "k", value, { ttlMs: 100 });
  assert.equal((await Promise.all([add(1), add(2), add(3)])).filter(Boolean).length, 1);
  const first = await store.kv.get("a", "k");
  assert.not(await add(4));
  assert.is(await store.kv.get("a", "k"), first);
  t.clock.now += 100;
  assert.ok(await store.kv.add("a", "k", 5));
  t.clock.now += 100;
  assert.not(await add(6));
  assert.is(await store.kv.get("a", "k"), 5);
  await store.kv.delete("a", "k");
  assert.ok(await add(7));
});

test("keys and values are separated by namespace, listed by prefix, and expire", async () => {
  await store.kv.set("a", "x:1", { n: 1 });
  await store.kv.set("a", "x:2", null);
  await store.kv.set("a", "y", "text", { ttlMs: 100 });
  await store.kv.set("b", "x:1", 9);
  assert.equal(await store.kv.get("a", "x:1"), { n: 1 });
  assert.is(await store.kv.get("a", "x:2"), null);
  assert.equal(await store.kv.list("a", "x:"), ["x:1", "x:2"]);
  assert.equal(await store.kv.list("a"), ["x:1", "x:2", "y"]);
  assert.is(await store.kv.get("a", "y"), "text");
  t.clock.now += 100;
  assert.is(await store.kv.get("a", "y"), undefined);
  assert.not(await store.kv.delete("a", "y"));
  assert.ok(await store.kv.delete("a", "x:1"));
  assert.equal(await store.kv.list("a"), ["x:2"]);
  assert.is(await store.kv.get("b", "x:1"), 9);
});

test("a name with NUL in it is a name like any other", async () => {
  const [first, other] = ["a\0b", "a\0c"];
  await store.kv.set(first, first, 1);
  await store.kv.set(first, other, 2);
  assert.equal(await store.kv.list(first, "a\0"), [first, other]);
  assert.is(await store.kv.get(first, other), 2);
  await store.enqueue({
    items: [first, other].map((name) => ({ id: name, lane: name, kind: "turn", body: name })),
    dedup: { key: first, ttlMs: 1e6, answer: first },
  });
  assert.is((await store.known(first))?.answer, first);
  assert.is(await store.known(other), undefined);
  const claims = await store.claim("w", 5, 30_000, ["turn"]);
  assert.equal(
    claims.map(({ item }) => [item.id, item.lane, item.body]),
    [first, other].map((name) => [name, name, name]),
  );
  for (const claim of claims) assert.ok(await store.finish(claim, { state: "done" }));
  await store.sessions.append(first, [{ role: "user", body: first }]);
  assert.is((await store.sessions.list())[0]?.id, first);
  assert.is((await store.sessions.transcript(first))[0]?.body, first);
  await store.schedules.put({
    kind: "cron",
    id: first,
    name: other,
    enabled: true,
    nextAt: 5,
    body: {},
  });
  assert.equal(
    (await store.schedules.list("cron")).map(({ id, name }) => [id, name]),
    [[first, other]],
  );
});

test("keys from outside may be of any length; one that is listed has an end", async () => {
  const long = (end: string) =>
    `${Array.from({ length: 1500 }, (_, n) => (n * n).toString(36)).join("")}${end}`;
  const add = (end: string) =>
    store.enqueue({
      items: [{ id: `i${end}`, lane: "l", kind: "turn", body: 1 }],
      dedup: { key: long(end), ttlMs: 1e6, answer: end },
      limit: { key: long(end), max: 1, windowMs: 1000 },
    });
  for (const end of ["a", "b"]) assert.is((await add(end)).duplicate, undefined);
  assert.is((await add("b")).duplicate?.answer, "b");
  assert.is((await store.known(long("a")))?.answer, "a");
  assert.is((await store.take(long("a"), 1, 1, 1000)).allowed, false);
  assert.is((await store.take(long("c"), 1, 1, 1000)).allowed, true);
  const set = (key: string) =>
    store.kv.set("n", key, 1).catch((error: { code: string }) => error.code);
  assert.equal(
    [await set("k".repeat(1900)), await set("ü".repeat(1900))],
    [undefined, "invalid_request_error"],
  );
  assert.is(await store.kv.get("n", long("")), undefined);
});

test("a session's transcript is in order, and clearing keeps the session and never reuses a number", async () => {
  const say = (text: string) => ({ role: "user", body: { role: "user", content: text } });
  await store.sessions.append("s", [say("one"), say("two")]);
  await store.sessions.put("s", { title: "T", gone: 1 });
  await store.sessions.put("s", { gone: null });
  assert.equal((await store.sessions.get("s"))?.meta, { title: "T" });
  assert.is(await store.sessions.clear("s"), 2);
  await store.sessions.append("s", [say("three"), say("four"), say("five")]);
  assert.equal(
    (await store.sessions.transcript("s")).map((message) => message.seq),
    [3, 4, 5],
  );
  assert.equal(
    (await store.sessions.transcript("s", { last: 2 })).map((message) => message.seq),
    [4, 5],
  );
  assert.equal(
    (await store.sessions.transcript("s", { after: 4 })).map((message) => message.seq),
    [5],
  );
  assert.is((await store.sessions.get("s"))?.messages, 3);
  t.clock.now += 10;
  await store.sessions.append("webhook:x", [say("hi")]);
  assert.equal(
    (await store.sessions.list()).map((session) => session.id),
    ["webhook:x", "s"],
  );
  assert.equal(
    (await store.sessions.list({ prefix: "webhook:" })).map((session) => session.id),
    ["webhook:x"],
  );
  assert.ok(await store.sessions.delete("s"));
  assert.equal(await store.sessions.transcript("s"), []);
});

function payloadOf(n: number): string | undefined {
  if (n % 5 === 0) return undefined;
  return n === 77 ? "long ".repeat(10_000) : `{"n":${n},"nul":"\0"}`;
}

test("deliveries that are written together are stored as if written alone", async () => {
  const deliveries = Array.from({ length: 150 }, (_, n) => ({
    id: `d${String((n * 7) % 150).padStart(3, "0")}`,
    source: n % 10 === 0 ? "agent" : "wake",
    outcome: n % 3 === 0 ? "skipped" : "accepted",
    itemId: n % 4 === 0 ? `i${n}` : undefined,
    meta: { n, text: 'ü \0 \u{10FFFE} " \\' },
    payload: payloadOf(n),
  }));
  const at: Record<string, number> = {};
  for (let from = 0; from < deliveries.length; from += 50) {
    t.clock.now += 10;
    const some = deliveries.slice(from, from + 50);
    await Promise.all(some.map((delivery) => store.enqueue({ deliveries: [delivery] })));
    for (const { id } of some) at[id] = (await store.deliveries.get(id))!.at;
  }
  const known = deliveries.map((delivery) => ({ ...delivery, at: at[delivery.id]! }));
  const newest = known.toSorted((a, b) => b.at - a.at || (a.id < b.id ? 1 : -1));
  for (const delivery of known) assert.equal(await store.deliveries.get(delivery.id), delivery);
  assert.is(await store.deliveries.get("d0005"), undefined);
  for (const filter of [
    {},
    { source: "wake" },
    { outcome: "skipped" },
    { before: newest[0]!.at },
  ]) {
    const { source, outcome, before } = filter as {
      source?: string;
      outcome?: string;
      before?: number;
    };
    const fitting = newest.filter(
      (delivery) =>
        [delivery.source, undefined].includes(source) &&
        [delivery.outcome, undefined].includes(outcome),
    );
    const expected = fitting.filter((delivery) => before === undefined || delivery.at < before);
    const listed = await store.deliveries.list({ ...filter, limit: 1000 });
    assert.equal(
      listed.map(({ id }) => id),
      expected.map(({ id }) => id),
      JSON.stringify(filter),
    );
    const few = await store.deliveries.list({ ...filter, limit: 20 });
    assert.equal(
      few.map(({ id }) => id),
      expected.slice(0, 20).map(({ id }) => id),
    );
  }
  // each is known, also beside new ones
  const again = deliveries.map((delivery) => ({ ...delivery, outcome: "again" }));
  await store.enqueue({ deliveries: [...again, { id: "new", source: "wake", outcome: "again" }] });
  assert.equal(
    (await store.deliveries.list({ outcome: "again" })).map(({ id }) => id),
    ["new"],
  );
  const oldest = newest.at(-1)!.at;
  const isOld = (delivery: (typeof newest)[number]) => delivery.at <= oldest;
  const skipped = newest.filter(
    (delivery) => isOld(delivery) && delivery.outcome === "skipped",
  ).length;
  assert.is(await store.deliveries.prune({ before: oldest + 1, outcomes: ["skipped"] }), skipped);
  const left = 151 - skipped;
  const young = newest.filter((delivery) => !isOld(delivery)).length + 1;
  assert.is(await store.deliveries.prune({ keep: young }), left - young);
  assert.is((await store.deliveries.list({ limit: 1000 })).length, young);
  assert.is(await store.deliveries.prune({ keep: young }), 0);
});

test("deliveries that share a row each stay unchanged, whatever they have in common", async () => {
  const alike: Record<string, unknown>[][] = [
    [{ a: 1 }, { a: 1 }, { a: 1 }, { a: 1 }],
    [{}, {}, {}, {}, { a: "" }],
    ["1111", "11", "1", "111", ""].map((a) => ({ a })),
    ["aab", "ab", "aaab", "b"].map((a) => ({ a, z: a })),
    ["\u{1F600}", "\u{1F601}", "\u{1F300}", "\ud83d", "\0", "\u{10FFFE}"].map((a) => ({
      a,
      nul: "\0",
    })),
    ['"', '\\"', "\\", '\\\\"'].map((a) => ({ a, z: a })),
    [{ head: "x" }, { head: "y", metas: [1] }, { tail: "x" }, { metas: "x" }],
  ];
  for (const [n, metas] of alike.entries()) {
    const deliveries = metas.map((meta, i) => ({
      id: `d${n}-${i}`,
      source: `s${n}`,
      outcome: "accepted",
      meta,
    }));
    await store.enqueue({ deliveries: deliveries });
    const listed = await store.deliveries.list({ source: `s${n}` });
    assert.equal(
      listed.map(({ meta }) => meta),
      deliveries.map(({ meta }) => meta).reverse(),
    );
  }
});

testOfFile(
  "deliveries that an earlier version packed into one row come back one by one",
  async () => {
    const file = join(t.dir, "old.db");
    const old = new Libsql(file);
    for (const part of migrations.slice(0, 6).flat()) old.exec(sqliteOf(part as string));
    old.exec("PRAGMA user_version = 6");
    const insert = old.prepare(
      "INSERT INTO deliveries (id, first_id, at, source, outcome, item_id, size, meta, payload) VALUES (?, ?, ?, 'wake', 'accepted', ?, ?, ?, ?)",
    );
    insert.run(["d1", null, 1, "i1", 1, '{"n":1}', "{}"]);
    const whole = { ids: ["d2", "d3"], itemIds: ["i2", null], metas: [{ n: 2 }, { n: 3 }] };
    insert.run(["d3", "d2", 2, null, 2, JSON.stringify(whole), '["\\u0000",null]']);
    const parts = { ...whole, ids: ["d4", "d5"], head: '{"n":', metas: ["4", "5"], tail: "}" };
    insert.run(["d5", "d4", 3, null, 2, JSON.stringify(parts), "[null,null]"]);
    old.close();
    const upgraded = openStore({ url: file, log: quietLog() });
    try {
      const list = await upgraded.deliveries.list();
      assert.equal(
        list.map(({ id, at, itemId, meta }) => [id, at, itemId, meta]),
        [
          ["d5", 3, undefined, { n: 5 }],
          ["d4", 3, "i2", { n: 4 }],
          ["d3", 2, undefined, { n: 3 }],
          ["d2", 2, "i2", { n: 2 }],
          ["d1", 1, "i1", { n: 1 }],
        ],
      );
      assert.is((await upgraded.deliveries.get("d2"))?.payload, "\0");
      assert.is((await upgraded.deliveries.get("d3"))?.payload, undefined);
      assert.is(await upgraded.deliveries.prune({ keep: 2 }), 3);
      assert.equal(await upgraded.check(), []);
    } finally {
      await upgraded.close();
    }
  },
);

testOfFile(
  "sums of usage that an older version wrote keep their amounts, and keys are principals",
  async () => {
    const file = join(t.dir, "old-usage.db");
    const old = new Libsql(file);
    const before = migrations.findIndex((parts) => parts.some((part) => isWidening(part)));
    for (const part of migrations.slice(0, before).flat())
      if (typeof part === "string" && !part.startsWith("{")) old.exec(sqliteOf(part));
    old.exec(`PRAGMA user_version = ${before}`);
    const amounts = "1, 0, 10, 5, 2, 0.25, 0, 0, 0";
    for (const [table, where] of [
      ["usage_minutes", "60000, '', 'c', 'm'"],
      ["usage_minutes", "60000, 'ci', 'c', 'm'"],
      ["usage_tags", "60000, 'nightly', 'ci', 'c', 'm'"],
    ])
      old.exec(`INSERT INTO ${table} VALUES (${where}, ${amounts})`);
    old.close();
    const upgraded = openStore({ url: file, log: quietLog() });
    try {
      const sums = await upgraded.usage.sum({ by: ["principal"] });
      assert.equal(
        sums.map(({ principal, requests, cost }) => [principal, requests, cost]),
        [
          ["", 1, 0.25],
          ["key:ci", 1, 0.25],
        ],
      );
      const [all] = await upgraded.usage.sum({ withTimes: true });
      assert.equal(all?.durations, emptyTimes(), "no time is known of them");
      const tags = await upgraded.usage.sum({ by: ["tag"], principal: "key:ci" });
      assert.equal(
        tags.map(({ tag, promptTokens }) => [tag, promptTokens]),
        [["nightly", 10]],
      );
      assert.equal(await upgraded.check(), []);
    } finally {
      await upgraded.close();
    }
  },
);

const isWidening = (part: unknown) =>
  typeof part === "string" && part.startsWith("CREATE TABLE usage_wider");

test("the character that stands for NUL comes back as itself out of JSON", async () => {
  const body = { text: "\u{10FFFE} and \0" };
  await store.enqueue({
    items: [{ id: "i", lane: "l", kind: "turn", body }],
    deliveries: [{ id: "d", source: "s", outcome: "accepted", meta: body }],
  });
  assert.equal((await store.items.get("i"))?.body, body);
  assert.equal((await store.deliveries.get("d"))?.meta, body);
});

test("deliveries and runs are listed newest first and pruned", async () => {
  for (let n = 1; n <= 5; n++) {
    await store.deliveries.append({
      id: `d${n}`,
      at: n,
      source: n % 2 ? "wake" : "agent",
      outcome: "accepted",
      payload: "p",
    });
    await store.runs.put({ id: `r${n}`, owner: "cron:a", at: n, status: "ok", data: { n } });
  }
  assert.equal(
    (await store.deliveries.list({ source: "wake" })).map((each) => each.id),
    ["d5", "d3", "d1"],
  );
  assert.is(await store.deliveries.prune({ keep: 2 }), 3);
  assert.equal(
    (await store.deliveries.list()).map((each) => each.id),
    ["d5", "d4"],
  );
  assert.equal(
    (await store.runs.list({ owner: "cron:a", limit: 2 })).map((each) => each.id),
    ["r5", "r4"],
  );
  assert.is(await store.runs.prune("cron:a", 1), 4);
  assert.equal(
    (await store.runs.list({ owner: "cron:a" })).map((each) => each.data),
    [{ n: 5 }],
  );
});

test("times of requests are counted in buckets, and add up", async () => {
  const times = (...buckets: number[]) => {
    const counts = emptyTimes();
    for (const bucket of buckets) counts[bucket] = (counts[bucket] ?? 0) + 1;
    return counts;
  };
  const longer = TIME_BOUNDS_MS.length;
  await store.usage.append([
    { channel: "c", durations: times(0, 3), firstBytes: times(1) },
    { channel: "c", durations: times(3, longer) },
    { channel: "d", durations: times(4), tag: "night" },
  ]);
  const [sum] = await store.usage.sum({ withTimes: true });
  assert.equal(sum?.durations, times(0, 3, 3, longer));
  assert.equal(sum?.firstBytes, times(1));
  const [tagged] = await store.usage.sum({ by: ["tag"], withTimes: true });
  assert.equal([tagged?.tag, tagged?.durations], ["night", times(4)]);
  assert.is((await store.usage.sum())[0]?.durations, undefined);
});

test("usage is summed by time, channel, model and key", async () => {
  const at = 1_800_000_000_000 - (1_800_000_000_000 % 3_600_000);
  await store.usage.append([
    { at, channel: "c", model: "m", promptTokens: 5, completionTokens: 1, cost: 0.5 },
    { at: at + 1000, channel: "c", model: "m", key: "k", promptTokens: 7, errors: 1 },
    { at: at + 3_600_000, channel: "c", model: "n", key: "k", promptTokens: 11 },
  ]);
  const [all] = await store.usage.sum();
  assert.equal([all?.requests, all?.promptTokens, all?.errors, all?.cost], [3, 23, 1, 0.5]);
  assert.equal((await store.usage.sum({ key: "k" }))[0]?.promptTokens, 18);
  const byModel = await store.usage.sum({ by: ["model"] });
  assert.equal(
    byModel.map((row) => [row.model, row.requests]),
    [
      ["m", 2],
      ["n", 1],
    ],
  );
  const byHour = await store.usage.sum({ by: ["hour"], since: at, until: at + 3_600_000 });
  assert.equal(
    byHour.map((row) => [row.at, row.promptTokens]),
    [[at, 12]],
  );
});

testOfFile("a copy holds what was written, and the original goes on", async () => {
  await store.kv.set("n", "k", 1);
  const copy = join(t.dir, "copy.db");
  assert.ok((await store.backup(copy)).bytes > 0);
  await store.kv.set("n", "k", 2);
  const opened = openStore({ url: copy, log: quietLog() });
  assert.is(await opened.kv.get("n", "k"), 1);
  await opened.close();
  assert.ok((await store.compact()).after > 0);
  assert.is(await store.kv.get("n", "k"), 2);
});

/** One of those that this process may run on. */
const someCore = () =>
  /^Cpus_allowed_list:\s+(\d+)/m.exec(readFileSync("/proc/self/status", "utf8"))![1]!;

for (const [where, before] of [
  ["", () => []],
  [", on a single core too", () => ["taskset", "-c", someCore()]],
] as const)
  testOfFile(`copies and checks are made beside running work${where}`, async () => {
    const [command = "", ...args] = [
      ...before(),
      process.execPath,
      ...program(`${import.meta.dirname}/beside.program.ts`),
    ];
    const { stdout } = await promisify(execFile)(command, [...args, t.dir]);
    assert.is(stdout, "backup\ncheck\n");
  });

testOfFile(
  "while the file is rewritten, reads go on; writes wait for its end and none is refused",
  async () => {
    await fill(store);
    for (let n = 0; n < 16; n++) await store.kv.delete("large", `k${n}`);
    const sizes: { before: number; after: number }[] = [];
    // On one core the file may be rewritten before anybody else's turn.
    await until("a read while the file is rewritten", async () => {
      const order: string[] = [];
      const note = (name: string) => () => void order.push(name);
      const compacted = store.compact().then((size) => {
        sizes.push(size);
        order.push("compacted");
      });
      await new Promise((resolve) => setImmediate(resolve));
      await Promise.all([
        compacted,
        store.kv.get("large", "k20").then(note("read")),
        store.kv.set("n", "k", sizes.length).then(note("written")),
      ]);
      return order[0] === "read";
    });
    assert.ok(sizes[0]!.after < sizes[0]!.before);
    assert.is(await store.kv.get("n", "k"), sizes.length - 1);
    assert.is((await store.kv.list("large")).length, 16);
  },
);

testOfFile("a copy that cannot be written says so, and leaves the store well", async () => {
  await store.kv.set("n", "k", 1);
  const refusal = (target: string) =>
    store.backup(target).then(
      () => ({ code: "none", message: "the copy was written" }),
      (error: { code: string; message: string }) => error,
    );
  const nowhere = await refusal(join(t.dir, "nowhere", "copy.db"));
  assert.is(nowhere.code, "store_unavailable");
  assert.match(nowhere.message, /could not be copied/);
  assert.ok((await store.health()).ok);
  const path = join(t.dir, "taken.db");
  writeFileSync(path, "mine");
  assert.is((await refusal(path)).code, "conflict");
  assert.is(readFileSync(path, "utf8"), "mine");
  assert.ok((await store.health()).ok);
});

testOfFile("nobody reads what is not durable yet", async () => {
  let durable = 0;
  for (let n = 1; n <= 100; n++) {
    // two, since a commit for one alone stops the event loop and nobody can look
    const written = Promise.all([store.kv.set("n", "k", n), store.kv.set("n", "other", n)]).then(
      () => {
        durable = n;
      },
    );
    for (let count = 0; count < n; ) {
      await new Promise((resolve) => setImmediate(resolve));
      count = (await store.kv.get<number>("n", "k")) ?? 0;
      assert.ok(count <= durable, `read ${count} when ${durable} was durable`);
    }
    await written;
  }
});

testOfFile("the log is moved into the file beside running work, and begins again", async () => {
  let written = 0;
  const fill = async () => {
    for (let n = 0; n < 20; n++) await store.kv.set("n", `k${written++}`, "x".repeat(500));
  };
  const grown = async (file: string) => {
    const before = statSync(file).size;
    await fill();
    return statSync(file).size > before;
  };
  await store.open();
  assert.ok(await grown(`${t.file}-wal`));
  await until("the log in the file", () => grown(t.file));
  await until("a log that has room again", async () => !(await grown(`${t.file}-wal`)));
  assert.is((await store.kv.list("n")).length, written);
  assert.equal(await store.check(), []);
});

testOfFile("once it is closed, its file alone is all of it", async () => {
  await store.kv.set("n", "k", 1);
  assert.is((await store.kv.list("n")).length, 1);
  await store.close();
  const copy = join(t.dir, "alone.db");
  copyFileSync(t.file, copy);
  assert.is(
    statSync(`${t.file}-wal`, { throwIfNoEntry: false })?.size ?? 0,
    0,
    "there is no log that another file would be taken with",
  );
  const opened = openStore({ url: copy, log: quietLog() });
  assert.is(await opened.kv.get("n", "k"), 1);
  await opened.close();
});

testOfFile(
  "of a file that is damaged, or no store, it says so and what to do, and leaves it as it is",
  async () => {
    for (let n = 0; n < 20; n++) await store.kv.set("n", `k${n}`, "x".repeat(1000));
    await store.close();
    const good = readFileSync(t.file);
    const bad = Buffer.from(good);
    for (let at = 4096; at < bad.length; at += 4096) bad.fill(0xff, at, at + 64);
    for (const [name, bytes, says] of [
      ["cut", good.subarray(0, 3 * 4096), /file is damaged.*state\/backups/],
      ["flipped", bad, /file is damaged.*state\/backups/],
      [
        "foreign",
        Buffer.from("a text, and no database at all\n".repeat(40)),
        /not a database.*state\/backups/,
      ],
    ] as const) {
      const file = join(t.dir, `${name}.db`);
      writeFileSync(file, bytes);
      const damaged = openStore({ url: file, log: quietLog() });
      for (const work of [
        () => damaged.check(),
        () => damaged.backup(`${file}-copy`),
        () => damaged.kv.set("n", "k", 2),
      ])
        await work().then(
          () => assert.unreachable(`${name} is taken for sound`),
          ({ message }: Error) => assert.match(message, says),
        );
      await damaged.close();
      assert.not(existsSync(`${file}-copy`), name);
      assert.equal(readFileSync(file), bytes, name);
    }
  },
);

test("a closed store rejects calls, and a wrong URL is reported", async () => {
  await store.close();
  await store.kv.set("n", "k", 1).then(
    () => assert.unreachable(),
    (error) => assert.is(error.code, "store_unavailable"),
  );
  assert.throws(() => openStore({ url: "redis://x", log: quietLog() }), /store\.url .* file:/);
});

test.run();
