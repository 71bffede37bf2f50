/** Mixed writes of several gateways over one PostgreSQL: nobody waits crosswise, whatever the order in which they come. */
import * as assert from "uvu/assert";
import { openEngine, openStore } from "../../../../plugins/store/open.ts";
import { laneLock, limitLock, MissingLock, rowLock } from "../../../../plugins/store/sql/locks.ts";
import type { Engine } from "../../../../plugins/store/sql/engine.ts";
import { run } from "../../../../plugins/store/sql/query.ts";
import type { Store } from "../../../../plugins/store/types.ts";
import { startPostgres, type TestPostgres } from "../../../support/machine/postgres.ts";
import { quietLog } from "../../../support/quiet-log.ts";
import { suite } from "../../../support/suite.ts";
import { random } from "../temporary-store.ts";

const test = suite("locks of writes over one PostgreSQL");
const GATEWAYS = 4;
const CALLERS = 5;
const CALLS = 60;
let server: TestPostgres;
let stores: Store[] = [];
test.before(async () => {
  server = await startPostgres({ settings: ["fsync=off"] });
});
test.after(() => server.stop());
test.after.each(async () => {
  await Promise.all(stores.map((store) => store.close()));
  stores = [];
  server.refuseDeadlocks();
});

async function open(url = server.emptyUrl()): Promise<Store[]> {
  stores = Array.from({ length: GATEWAYS }, () => openStore({ url, log: quietLog() }));
  await Promise.all(stores.map((store) => store.open()));
  return stores;
}

/** Every write that takes locks, over few keys, lanes and rows, so that all of them meet. */
function callsOf(next: () => number, name: string): ((store: Store) => Promise<unknown>)[] {
  const pick = <T>(list: readonly T[]): T => list[Math.floor(next() * list.length)] as T;
  const lanes = ["a", "b", "c"];
  let itemCount = 0;
  const id = () => `${name}-${itemCount++}`;
  const batch = () => ({
    items: [pick(lanes), pick(lanes)].map((lane) => ({ id: id(), lane, kind: "turn", body: {} })),
    deliveries: [{ id: id(), source: "test", outcome: "accepted" }],
    runs: [{ id: id(), owner: pick(lanes), at: 1, status: "ok" }],
    messages: [pick(lanes), pick(lanes)].map((session) => ({
      session,
      messages: [{ role: "user", body: 1 }],
    })),
    kv: [{ namespace: "n", key: pick(lanes), value: 1 }],
  });
  const limit = () => ({ key: pick(lanes), max: 1_000_000, windowMs: 60_000 });
  const slot = () => ({ kind: "cron", id: pick(lanes), expectedNext: 1, next: 1 });
  const window = { ms: 60_000 };
  return [
    (store) => store.enqueue({ ...batch(), limit: limit() }),
    (store) =>
      store.enqueue({
        ...batch(),
        limit: limit(),
        dedup: { key: pick(lanes), ttlMs: 1, answer: 1 },
      }),
    async (store) => {
      const claims = await store.claim(name, 2, 30_000, ["turn"]);
      const error = { code: "boom", message: "it failed" };
      for (const claim of claims) {
        await store.drain(pick(lanes), "turn", 2, claim.item.id);
        const state = pick(["done", "dead"] as const);
        const outcome = state === "done" ? { state } : { state, error };
        await store.finish(claim, outcome, batch());
      }
    },
    (store) => store.items.cancel(`${name}-${Math.floor(next() * itemCount)}`),
    (store) => store.items.replay(`${name}-${Math.floor(next() * itemCount)}`),
    (store) => store.abandon(name),
    (store) => store.tick(slot(), batch()),
    (store) => store.sessions.put(pick(lanes), { at: itemCount }),
    (store) => store.runs.prune(pick(lanes), 3),
    (store) => store.items.prune(store.now(), ["cancelled", "dead"]),
    (store) => store.deliveries.prune({ keep: 20 }),
    (store) => store.sweep(),
    (store) =>
      store.usage.append([
        { at: 1, key: pick(lanes) },
        { at: 1, key: pick(lanes) },
      ]),
    (store) =>
      store.reservations.reserve(
        { id: `r-${name}`, holder: name, ttlMs: 60_000 },
        lanes.map((key) => ({ key, window, max: 1e9, amount: 1 })),
      ),
    (store) =>
      store.reservations.settle(
        `r-${name}`,
        lanes.toReversed().map((key) => ({ key, window, amount: 1 })),
      ),
    (store) => store.reservations.extend(name, 60_000),
  ];
}

for (let seed = 1; seed <= 3; seed++) {
  test(`four gateways that write everything at once never deadlock (seed ${seed})`, async () => {
    const all = await open();
    await Promise.all(
      ["a", "b", "c"].map((id) =>
        all[0]!.schedules.put({ kind: "cron", id, enabled: true, nextAt: 1, body: {} }),
      ),
    );
    const caller = async (store: Store, name: string, own: number) => {
      const next = random(seed * 1000 + own);
      const calls = callsOf(next, name);
      for (let n = 0; n < CALLS; n++) await calls[Math.floor(next() * calls.length)]!(store);
    };
    await Promise.all(
      all.flatMap((store, g) =>
        Array.from({ length: CALLERS }, (_, c) => caller(store, `g${g}c${c}`, g * CALLERS + c)),
      ),
    );
    server.refuseDeadlocks();
    assert.not.match(server.log(), /still waiting for \w+ on (transaction|tuple)/);
  });
}

test("a write that changes undeclared rows is refused and changes nothing", async () => {
  const engine: Engine = openEngine({ url: server.emptyUrl(), log: quietLog() });
  try {
    const write = engine.write({
      locks: [limitLock("a"), rowLock("kv", "n", "k")],
      *run(tx) {
        yield* run("INSERT INTO kv (namespace, key, value) VALUES ('n', 'k', '1')");
        tx.require(laneLock({ kind: "turn", lane: "a" }));
      },
    });
    await write.then(
      () => assert.unreachable("it was written"),
      (error: unknown) => assert.instance(error, MissingLock),
    );
    assert.is(await engine.read(() => run("SELECT 1 FROM kv WHERE namespace = 'n'")), 0);
  } finally {
    await engine.close();
  }
});

test("a gateway continues if another one has migrated the tables meanwhile", async () => {
  const url = server.emptyUrl();
  const [store] = (await open(url)) as [Store];
  const turn = (id: string) => ({ id, lane: id, kind: "turn", body: {} });
  await store.enqueue({ items: [turn("a")] });
  assert.is((await store.items.get("a"))?.id, "a");
  assert.is((await store.claim("w", 1, 30_000, ["turn"])).length, 1);
  server.sql(`ALTER TABLE ${/search_path%3D(\w+)/.exec(url)?.[1]}.items ADD COLUMN later BIGINT`);
  assert.is((await store.items.get("a"))?.id, "a");
  await store.enqueue({ items: [turn("b")] });
  assert.is((await store.claim("w", 1, 30_000, ["turn"]))[0]?.item.id, "b");
});

test.run();
