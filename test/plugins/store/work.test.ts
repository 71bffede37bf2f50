import { test } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import type { Step, Write } from "../../../plugins/store/sql/operation.ts";
import { claim, finish } from "../../../plugins/store/operations/work.ts";
import { performWrite } from "../../../plugins/store/sqlite/batch.ts";
import { type Connection, connect } from "../../../plugins/store/sqlite/connection.ts";
import { WAITING } from "../../../plugins/store/sqlite/migrate.ts";
import { SharedTransaction } from "../../../plugins/store/sql/transaction.ts";
import type { Claim, Store } from "../../../plugins/store/types.ts";
import { isInFile, type TemporaryStore, temporaryStore } from "./temporary-store.ts";

const testOfFile = isInFile() ? test : () => {};
const LEASE = 30_000;
const error = { code: "boom", message: "it failed" };
const turn = (id: string, lane = "a", rest = {}) => ({
  id,
  lane,
  kind: "turn",
  body: { n: id },
  ...rest,
});
const ids = (claims: readonly Claim[]) => claims.map((claim) => claim.item.id).sort();

let t: TemporaryStore;
let store: Store;
test.before.each(() => {
  t = temporaryStore();
  store = t.store;
});
test.after.each(() => t.remove());

async function claimNext(worker = "w"): Promise<Claim> {
  const [claim] = await store.claim(worker, 1, LEASE, ["turn"]);
  assert.ok(claim, "expected something to claim");
  return claim as Claim;
}

test("a lane runs one item at a time, in order; lanes run side by side", async () => {
  await store.enqueue({ items: [turn("a1"), turn("a2"), turn("b1", "b")] });
  const claims = await store.claim("w", 10, LEASE, ["turn"]);
  assert.equal(ids(claims), ["a1", "b1"]);
  assert.equal(await store.claim("w2", 10, LEASE, ["turn"]), []);
  const first = claims.find((claim) => claim.item.id === "a1") as Claim;
  assert.ok(await store.finish(first, { state: "done", result: { text: "ok" } }));
  assert.equal(ids(await store.claim("w", 10, LEASE, ["turn"])), ["a2"]);
  const done = await store.items.get("a1");
  assert.equal(done?.state, "done");
  assert.equal(done?.result, { text: "ok" });
  assert.equal(done?.attempts, 1);
});

test("items that are added at once each stay unchanged, whether or not they are alike", async () => {
  const alike = (n: number) => n < 40 || n % 7 > 0;
  const items = Array.from({ length: 107 }, (_, n) => ({
    id: `i${n}`,
    lane: alike(n) ? "a" : `l${n}`,
    kind: alike(n) ? "turn" : "event",
    body: { n },
    maxAttempts: n === 45 ? 9 : 3,
  }));
  const deliveries = Array.from({ length: 107 }, (_, n) => ({
    id: `d${n}`,
    source: alike(n) ? "one" : `source ${n}`,
    outcome: n === 50 ? "skipped" : "accepted",
    at: t.clock.now + n,
    itemId: n % 5 > 0 ? `i${n}` : undefined,
    payload: n % 3 > 0 ? `p${n}` : undefined,
    meta: { n },
  }));
  await store.enqueue({ items, deliveries });
  for (const { id, ...item } of items) {
    const { lane, kind, body, maxAttempts } = (await store.items.get(id))!;
    assert.equal({ lane, kind, body, maxAttempts }, item, id);
  }
  for (const delivery of deliveries)
    assert.equal(await store.deliveries.get(delivery.id), delivery);
  const inOrder = (await store.items.list({ lane: "a", limit: 200 })).map(({ id }) => id).reverse();
  assert.equal(
    inOrder,
    items.filter(({ lane }) => lane === "a").map(({ id }) => id),
  );
});

test("a lease that ran out goes to another worker, and the late finish is refused", async () => {
  await store.enqueue({ items: [turn("a1")] });
  const late = await claimNext("late");
  t.clock.now += LEASE - 1;
  assert.equal(await store.claim("other", 1, LEASE, ["turn"]), []);
  t.clock.now += 1;
  const claim = await claimNext("other");
  assert.equal(claim.item.attempts, 2);
  assert.not(await store.extend(late, LEASE));
  assert.not(await store.finish(late, { state: "done" }, { items: [turn("x", "x")] }));
  assert.is(await store.items.get("x"), undefined, "nothing of a refused finish may be written");
  assert.ok(await store.finish(claim, { state: "done" }));
});

test("a renewed lease is kept; an abandoned one is free at once", async () => {
  await store.enqueue({ items: [turn("a1")] });
  const claim = await claimNext("dead");
  t.clock.now += 20_000;
  assert.ok(await store.extend(claim, LEASE));
  t.clock.now += 20_000;
  assert.equal(await store.claim("other", 1, LEASE, ["turn"]), []);
  assert.is(await store.abandon("dead"), 1);
  assert.is((await claimNext("other")).item.id, "a1");
  assert.not(await store.finish(claim, { state: "done" }));
});

test("a retry keeps its place in the lane and waits", async () => {
  await store.enqueue({ items: [turn("a1"), turn("a2")] });
  const claim = await claimNext();
  assert.ok(await store.finish(claim, { state: "retry", at: t.clock.now + 5000, error }));
  assert.equal(await store.claim("w", 1, LEASE, ["turn"]), []);
  assert.is(await store.nextWorkAt(["turn"]), t.clock.now + 5000);
  assert.equal((await store.items.get("a1"))?.error, error);
  t.clock.now += 5000;
  const again = await claimNext();
  assert.is(again.item.id, "a1");
  assert.equal([again.item.attempts, again.item.failures], [2, 1]);
  assert.ok(
    await store.finish(again, { state: "retry", at: t.clock.now, error, interrupted: true }),
  );
  const third = await claimNext();
  assert.equal([third.item.attempts, third.item.failures], [3, 1]);
});

test("due items are not starved by a stream of new work", async () => {
  await store.enqueue({ items: [turn("old", "old")] });
  assert.ok(
    await store.finish(await claimNext(), { state: "retry", at: t.clock.now + 1000, error }),
  );
  await store.enqueue({ items: [turn("n1", "n1"), turn("n2", "n2")] });
  t.clock.now += 1000;
  assert.is((await claimNext()).item.id, "old");
});

test("a delayed item waits for its time and does not hold up the others of its lane", async () => {
  await store.enqueue({ items: [turn("later", "a", { runAt: t.clock.now + 1000 }), turn("now")] });
  const claim = await claimNext();
  assert.is(claim.item.id, "now");
  assert.ok(await store.finish(claim, { state: "done" }));
  assert.is(await store.nextWorkAt(["turn"]), t.clock.now + 1000);
  t.clock.now += 1000;
  assert.is((await claimNext()).item.id, "later");
});

test("dead items show, can be replayed, and do not block their lane", async () => {
  await store.enqueue({ items: [turn("a1"), turn("a2")] });
  assert.ok(await store.finish(await claimNext(), { state: "dead", error }));
  assert.is((await claimNext()).item.id, "a2");
  assert.equal(
    (await store.items.list({ state: "dead" })).map((item) => item.id),
    ["a1"],
  );
  assert.is(await store.items.count("turn", "dead"), 1);
  assert.ok(await store.items.replay("a1"));
  assert.is(await store.items.count("turn", "dead"), 0);
  assert.not(await store.items.replay("a1"));
  const again = await store.items.get("a1");
  assert.is(again?.state, "queued");
  assert.is(again?.attempts, 0);
});

test("a paused item keeps its progress and its lane, counts no failure, and is woken", async () => {
  await store.enqueue({ items: [turn("a1"), turn("a2")] });
  const at = t.clock.now + 60_000;
  assert.ok(await store.finish(await claimNext(), { state: "paused", at, body: { step: 2 } }));
  assert.equal(await store.claim("w", 5, 1000, ["turn"]), []);
  const paused = await store.items.get("a1");
  assert.equal(
    [paused?.state, paused?.attempts, paused?.failures, paused?.retryAt, paused?.body],
    ["queued", 0, 0, at, { step: 2 }],
  );
  assert.not(await store.items.wake("a2"), "it is not the next of its lane");
  assert.not(await store.items.wake("none"));
  assert.ok(await store.items.wake("a1"));
  const claim = await claimNext();
  assert.equal([claim.item.id, claim.item.attempts, claim.item.body], ["a1", 1, { step: 2 }]);
  assert.not(await store.items.wake("a1"), "it runs");
});

test("a cancelled item is removed while queued, loses its lease while running, and stays once ended", async () => {
  await store.enqueue({ items: [turn("a1"), turn("a2"), turn("a3")] });
  const claim = await claimNext();
  assert.ok(await store.items.cancel("a2"));
  assert.ok(await store.items.cancel("a1"));
  assert.not(await store.extend(claim, LEASE));
  assert.not(await store.items.cancel("a1"));
  assert.is((await claimNext()).item.id, "a3");
});

test("the same id is added once", async () => {
  await store.enqueue({ items: [turn("a1")] });
  await store.enqueue({ items: [turn("a1", "b")] });
  assert.equal(
    (await store.claim("w", 10, LEASE, ["turn"])).map((claim) => claim.item.lane),
    ["a"],
  );
});

test("a known key returns the first result again and writes nothing until it is forgotten", async () => {
  const dedup = { key: "k", ttlMs: 1000, answer: { turnId: "a1" } };
  assert.is((await store.enqueue({ dedup, items: [turn("a1")] })).duplicate, undefined);
  const again = await store.enqueue({
    dedup: { ...dedup, answer: { turnId: "a2" } },
    items: [turn("a2")],
  });
  assert.equal(again.duplicate?.answer, { turnId: "a1" });
  assert.is(await store.items.get("a2"), undefined);
  assert.equal((await store.known("k"))?.answer, { turnId: "a1" });
  t.clock.now += 1000;
  assert.is(await store.known("k"), undefined);
  assert.is((await store.enqueue({ dedup, items: [turn("a3")] })).duplicate, undefined);
  assert.is((await store.items.get("a3"))?.state, "queued");
});

test("of many concurrent callers with one key, one succeeds", async () => {
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, n) =>
      store.enqueue({
        dedup: { key: "k", ttlMs: 1000, answer: n },
        items: [turn(`t${n}`, `l${n}`)],
      }),
    ),
  );
  assert.is(answers.filter((enqueued) => !enqueued.duplicate).length, 1);
  assert.is((await store.items.list({ kind: "turn" })).length, 1);
});

test("drained events are done only when their turn has finished", async () => {
  const wake = (id: string) => ({ id, lane: "main", kind: "wake", body: id });
  await store.enqueue({ items: [wake("e1"), wake("e2"), wake("e3"), turn("beat", "main")] });
  const beat = await claimNext();
  const drained = await store.drain("main", "wake", 2, beat.item.id);
  assert.equal(
    drained.map((item) => item.id),
    ["e1", "e2"],
  );
  assert.equal(
    (await store.drain("main", "wake", 2, beat.item.id)).map((item) => item.id),
    ["e1", "e2"],
  );
  assert.is(await store.pending("main", "wake"), 1);
  assert.ok(await store.finish(beat, { state: "retry", at: t.clock.now, error }));
  assert.is((await store.items.get("e1"))?.state, "held");
  const again = await claimNext();
  assert.equal(
    (await store.drain("main", "wake", 9, again.item.id)).map((item) => item.id),
    ["e1", "e2", "e3"],
  );
  assert.ok(await store.finish(again, { state: "done" }));
  for (const id of ["e1", "e2", "e3"]) assert.is((await store.items.get(id))?.state, "done");
});

test("drained events stay within a number of characters; one that alone is too long comes alone", async () => {
  const wake = (id: string, kind = "wake", chars = 8) => ({
    id,
    lane: "main",
    kind,
    body: "x".repeat(chars),
  });
  await store.enqueue({
    items: [
      wake("e1"),
      wake("e2"),
      wake("long", "wake", 98),
      wake("e3"),
      wake("now", "wake.now"),
      turn("b", "main"),
    ],
  });
  const drained = async (kind: string, by: string, chars: number) =>
    (await store.drain("main", kind, 9, by, chars)).map((item) => item.id);
  assert.equal(
    await drained("wake", "b", 29),
    ["e1", "e2"],
    "in order: a short one does not overtake a long one",
  );
  assert.equal(await drained("wake", "b", 29), ["e1", "e2"], "those that are bound count");
  assert.equal(await drained("wake", "b2", 29), ["long"]);
  assert.equal(await drained("wake.now", "b2", 5), [], "it is alone, whatever the kind");
  assert.equal(await drained("wake", "b2", 130), ["long", "e3"]);
});

test("events of a turn that died go back to the queue, and die after their own attempts", async () => {
  await store.enqueue({
    items: [{ id: "e1", lane: "main", kind: "wake", body: 1, maxAttempts: 2 }],
  });
  for (const expected of ["queued", "dead"]) {
    await store.enqueue({ items: [turn(`beat-${expected}`, "main")] });
    const beat = await claimNext();
    await store.drain("main", "wake", 9, beat.item.id);
    assert.ok(await store.finish(beat, { state: "dead", error }));
    assert.is((await store.items.get("e1"))?.state, expected);
  }
});

test("a settling lane waits for quiet, but not for ever", async () => {
  const settle = { windowMs: 1000, maxWaitMs: 2500 };
  const burst = (id: string) => ({ id, lane: "pr-1", kind: "burst", body: id, settle });
  for (const id of ["b1", "b2"]) {
    await store.enqueue({ items: [burst(id)] });
    t.clock.now += 900;
    assert.equal(await store.claim("w", 1, LEASE, ["burst"]), []);
  }
  await store.enqueue({ items: [burst("b3")] });
  t.clock.now += 699;
  await store.enqueue({ items: [burst("b4")] });
  assert.equal(await store.claim("w", 1, LEASE, ["burst"]), []);
  t.clock.now += 1;
  const [claim] = await store.claim("w", 1, LEASE, ["burst"]);
  assert.is(claim?.item.id, "b1");
  assert.equal(
    (await store.drain("pr-1", "burst", 10, "b1")).map((item) => item.id),
    ["b2", "b3", "b4"],
  );
  assert.ok(await store.finish(claim as Claim, { state: "done" }, { items: [turn("t1")] }));
  assert.is((await store.items.get("b4"))?.state, "done");
  assert.is((await claimNext()).item.id, "t1");
});

test("related writes are committed together", async () => {
  await store.enqueue({
    items: [turn("a1")],
    deliveries: [
      {
        id: "d1",
        source: "wake",
        outcome: "accepted",
        itemId: "a1",
        meta: { status: 200 },
        payload: "{}",
      },
    ],
    runs: [{ id: "r1", owner: "cron:x", at: 5, status: "running" }],
    kv: [{ namespace: "n", key: "k", value: [1] }],
    messages: [
      {
        session: "s",
        messages: [{ role: "user", body: { role: "user", content: "hi" } }],
        meta: { title: "T" },
      },
    ],
  });
  assert.equal((await store.deliveries.get("d1"))?.payload, "{}");
  assert.is((await store.runs.get("r1"))?.status, "running");
  assert.equal(await store.kv.get("n", "k"), [1]);
  assert.is((await store.sessions.get("s"))?.messages, 1);
  assert.is((await store.sessions.get("s"))?.meta["title"], "T");
});

test("a failing call affects no other of its batch and leaves nothing behind", async () => {
  const good = [turn("g1"), turn("g2", "b")].map((item) => store.enqueue({ items: [item] }));
  const bad = store.enqueue({ items: [turn("b1", "c"), turn("b2", "d", { body: 10n })] });
  await Promise.all(good);
  await bad.then(
    () => assert.unreachable("a body that is no JSON was accepted"),
    (failure: Error) => assert.instance(failure, TypeError),
  );
  assert.is(await store.items.get("b1"), undefined);
  assert.equal(ids(await store.claim("w", 9, LEASE, ["turn"])), ["g1", "g2"]);
});

test("new work is announced after it is durable", async () => {
  const claimedIds: (string | undefined)[] = [];
  const signalled = new Promise<void>((resolve) => {
    store.onWork("turn", () => {
      void store.items.get("a1").then((item) => {
        claimedIds.push(item?.id);
        resolve();
      });
    });
  });
  await store.enqueue({ items: [turn("a1")] });
  await signalled;
  assert.equal(claimedIds, ["a1"]);
});

testOfFile("claiming and finishing go through indexes, however many items wait", async () => {
  const items = Array.from({ length: 1000 }, (_, n) => turn(`i${n}`, `l${n % 100}`));
  await store.enqueue({ items: [...items, turn("later", "l1", { runAt: t.clock.now + 1 })] });
  t.clock.now += 1;
  const connection = await connect(t.file);
  const steps: { sql: string; detail: string }[] = [];
  const explained: Connection = Object.assign(Object.create(connection) as Connection, {
    execute(step: Step) {
      if (!("sql" in step)) return connection.execute(step);
      const sql = step.sql.replace("{waiting}", WAITING);
      for (const { detail } of connection.once(`EXPLAIN QUERY PLAN ${sql}`, ...step.params))
        steps.push({ sql, detail: String(detail) });
      return connection.execute(step);
    },
  });
  const run = <T>(write: Write<T>) =>
    performWrite(explained, new SharedTransaction(), write, t.clock.now);
  const claims = run(claim({ worker: "w", max: 50, leaseMs: LEASE, kinds: ["turn"] }));
  assert.is(claims.length, 50);
  for (const claim of claims) assert.ok(run(finish(claim, { state: "done" }, undefined)));
  connection.close();
  assert.ok(steps.some(({ detail }) => /^SEARCH lanes USING (COVERING )?INDEX/.test(detail)));
  assert.equal(
    steps.filter(({ detail }) => /^SCAN (lanes|items)|TEMP B-TREE/.test(detail)),
    [],
  );
});

test("items can be listed, and ended ones are forgotten", async () => {
  await store.enqueue({ items: [turn("a1"), turn("a2")] });
  const claim = await claimNext();
  const [lane] = await store.items.lanes();
  assert.is(lane?.worker, "w");
  assert.is(lane?.head, "a1");
  assert.is(lane?.queued, 1);
  await store.finish(claim, { state: "done" });
  t.clock.now += 1000;
  assert.is(await store.items.prune(t.clock.now, ["dead", "cancelled"]), 0);
  assert.is(await store.items.prune(t.clock.now, ["done"]), 1);
  assert.is(await store.items.get("a1"), undefined);
  assert.equal(await store.check(), []);
});

test("lanes beyond a holder's share are skipped until one of its lanes is free", async () => {
  const item = (id: string, lane: string, holder?: string) => ({
    id,
    lane,
    kind: "turn",
    body: 0,
    holder,
  });
  await store.enqueue({
    items: [
      ...["a1", "a2", "a3", "a4"].map((id) => item(id, id, "a")),
      item("b1", "b1", "b"),
      item("mixed-a", "mixed", "a"),
      item("mixed-owner", "mixed"),
      item("own", "own"),
    ],
  });
  const claims = (max: number, used: Record<string, number>) =>
    store.claim("w", max, LEASE, ["turn"], { used, each: 2, together: 3 });
  const ids = (list: Claim[]) => list.map(({ item: { id } }) => id);
  const first = await claims(8, {});
  assert.equal(ids(first), ["a1", "a2", "b1", "own"]);
  assert.equal(ids(await claims(4, { a: 2, b: 1 })), [], "all shares are taken");
  for (const claim of first.slice(0, 2)) await store.finish(claim, { state: "done" });
  assert.equal(ids(await claims(8, { a: 1, b: 1 })), ["a3"]);
  t.clock.now += LEASE + 1;
  assert.equal(
    ids(await claims(1, { a: 2 })),
    ["b1"],
    "one whose lease ran out has its holder too",
  );
});

test.run();
