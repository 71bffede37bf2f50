/** A disk that fails under the journal: what was not synced is acknowledged to nobody, what was accepted is there for all. */
import { execFileSync } from "node:child_process";
import { copyFileSync, statSync } from "node:fs";
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import * as assert from "uvu/assert";
import { openStore } from "../../../plugins/store/open.ts";
import type { Store } from "../../../plugins/store/types.ts";
import { quietLog } from "../../support/quiet-log.ts";
import { test } from "../../support/suite.ts";
import { until } from "../../support/until.ts";
import { killCallers, openInChild } from "./caller.ts";
import { journalIsUsed, type TemporaryStore, temporaryStore } from "./temporary-store.ts";

let t: TemporaryStore;
const { fdatasync, fdatasyncSync } = fs;
test.before.each(() => {
  t = temporaryStore();
});
test.after.each(async () => {
  syncWith({ fdatasync, fdatasyncSync });
  killCallers();
  await t.remove();
});

function wake(store: Store, id: string): Promise<unknown> {
  return store.enqueue({
    dedup: { key: id, ttlMs: 60_000, answer: { id } },
    items: [{ id, lane: "main", kind: "wake", body: {} }],
  });
}

async function idsIn(store: Store): Promise<string[]> {
  return (await store.items.list({ limit: 1000 })).map(({ id }) => id).sort();
}

/** As the next start finds them. */
async function idsAfterKill(name: string): Promise<string[]> {
  const copy = join(t.dir, `${name}.db`);
  for (const end of ["", "-wal", "-accepted"]) copyFileSync(t.file + end, copy + end);
  const store = openStore({ url: copy, log: quietLog() });
  const ids = await idsIn(store);
  await store.close();
  return ids;
}

function syncWith(calls: object): void {
  Object.assign(fs, calls);
  syncBuiltinESMExports();
}

/** From now on no sync of the journal succeeds. Returns how many were tried. */
function failSyncs(): () => number {
  let tried = 0;
  const failure = () => {
    tried++;
    return Object.assign(new Error("EIO: i/o error, fdatasync"), { code: "EIO" });
  };
  syncWith({
    fdatasyncSync() {
      throw failure();
    },
    fdatasync(_: number, done: (error: Error) => void) {
      setImmediate(done, failure());
    },
  });
  return () => tried;
}

const refused = (error: { code?: string; status?: number }) =>
  error.code === "store_unavailable" && error.status === 503;

for (const atOnce of [1, 3])
  test(`a sync that fails: ${atOnce} at once are refused, and no later one is trusted to that journal`, async () => {
    const earlier: string[] = [];
    await until("the journal is used", async () => {
      earlier.push(`w${earlier.length}`);
      await wake(t.store, `w${earlier.length - 1}`);
      return journalIsUsed(t.file);
    });
    const tried = failSyncs();
    const lost = await until("some that the journal is to take", async () => {
      const ids = Array.from({ length: atOnce }, (_, n) => `lost${earlier.length}-${n}`);
      const results = await Promise.allSettled(ids.map((id) => wake(t.store, id)));
      if (results.every((one) => one.status === "rejected" && refused(one.reason))) return ids;
      // What goes into the tables now and then has taken them along.
      if (results.every(({ status }) => status === "fulfilled")) earlier.push(...ids);
      return undefined;
    });
    assert.is(tried(), 1);
    // what was refused does not come back after a kill, not even one right now
    const now = await idsAfterKill("now");
    assert.equal(now, [...earlier].sort());
    // the disk answers again, and says nothing of what it has lost meanwhile
    syncWith({ fdatasync, fdatasyncSync });
    const syncs = failSyncs();
    const later = ["l0", "l1", "l2"];
    for (const id of later) await wake(t.store, id);
    assert.is(syncs(), 0);
    const all = [...earlier, ...later].sort();
    assert.equal(await idsIn(t.store), all);
    for (const id of lost) assert.is(await t.store.known(id), undefined);
    assert.equal(await idsAfterKill("later"), all);
  });

test("a disk that is full: what is accepted already is there for whoever reads, and in the tables once there is room", async () => {
  const child = openInChild(t.file);
  const limit = (bytes: number | "unlimited") =>
    execFileSync("prlimit", ["--pid", String(child.pid), `--fsize=${bytes}:unlimited`]);
  await child.ask("open");
  await until("the journal is used", async () => {
    await child.ask("enqueue", `w${Math.random()}`);
    return journalIsUsed(t.file);
  });
  await child.ask("known", "nobody");
  // no further page finds room in the log of the tables; the journal is as long as it will ever be
  limit(statSync(`${t.file}-wal`).size);
  assert.equal(await child.ask("enqueue", "a"), { duplicate: undefined });
  const there = { known: { id: "a" }, delivery: "d-a" };
  for (let read = 0; read < 3; read++) assert.equal(await child.ask("known", "a"), there);
  assert.equal(await child.ask("enqueue", "b"), { refused: "store_unavailable" });
  assert.equal(await child.ask("known", "b"), { known: undefined, delivery: undefined });
  assert.equal(await child.ask("known", "a"), there);
  limit("unlimited");
  await until(
    "there is room",
    async () => !("refused" in ((await child.ask("enqueue", "c")) as object)),
  );
  await child.kill();
  for (const id of ["a", "c"]) assert.is((await t.store.deliveries.get(`d-${id}`))?.id, `d-${id}`);
  assert.is(await t.store.deliveries.get("d-b"), undefined);
  assert.equal(await t.store.check(), []);
});

test.run();
