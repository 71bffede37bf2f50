/** What was accepted and is not in the tables yet: it outlives kills and a power failure, and nobody sees a difference. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as assert from "uvu/assert";
import { openStore } from "../../../plugins/store/open.ts";
import type { Store } from "../../../plugins/store/types.ts";
import { program } from "../../support/runner/bundle.ts";
import { quietLog } from "../../support/quiet-log.ts";
import { test } from "../../support/suite.ts";
import { until } from "../../support/until.ts";
import { killCallers, openInChild } from "./caller.ts";
import {
  journalIsUsed,
  journalOf,
  type TemporaryStore,
  temporaryStore,
} from "./temporary-store.ts";

let t: TemporaryStore;
test.before.each(() => {
  t = temporaryStore();
});
test.after.each(async () => {
  killCallers();
  await t.remove();
});

const bytesOf = (file: string) => readFileSync(journalOf(file));
const limit = { key: "l", max: 1000, windowMs: 60_000 };

function wake(store: Store, id: string, key = id) {
  return store.enqueue({
    dedup: { key, ttlMs: 60_000, answer: { id } },
    limit,
    items: [{ id, lane: "main", kind: "wake", body: { text: `words of ${id}` } }],
    deliveries: [
      { id: `d-${id}`, source: "test", outcome: "accepted", itemId: id, payload: "raw" },
    ],
  });
}

/** Until they go through the journal: it is opened beside the first ones. */
async function warmUp(store: Store, file: string): Promise<number> {
  let n = 0;
  await until("the journal is used", async () => {
    await wake(store, `w${n++}`);
    return journalIsUsed(file);
  });
  return n;
}

/** As the machine would find them after its power failed: the tables as they were, the journal as it is. */
function powerFailure(
  from: string,
  name: string,
): { tables(): void; journal(): void; file: string } {
  const file = join(t.dir, `${name}.db`);
  return {
    file,
    tables() {
      for (const end of ["", "-wal"]) copyFileSync(`${from}${end}`, `${file}${end}`);
    },
    journal: () => copyFileSync(journalOf(from), journalOf(file)),
  };
}

/**
 * So many that are in the journal alone when this ends, while the crashes have the tables as they were before them. What
 * was accepted earlier, and belongs into these, is added to `there`.
 */
async function inJournalAlone(
  crashes: readonly { tables(): void }[],
  there: string[],
  count: number,
  prepare: () => Promise<unknown> = async () => {},
): Promise<string[]> {
  return until("some that are in the journal alone", async () => {
    await prepare();
    for (const crash of crashes) crash.tables();
    const ids = named(`a${there.length}-`, count);
    for (const id of ids) await wake(t.store, id);
    // Where the moment had come at which all goes into the tables, the later ones stand in the place of the first.
    if (ids.every((id) => bytesOf(t.file).includes(`words of ${id}"`))) return ids;
    there.push(...ids);
    return undefined;
  });
}

async function reopened(file: string): Promise<Store> {
  const store = openStore({ url: file, log: quietLog(), clock: () => t.clock.now });
  await store.open();
  return store;
}

async function expectAll(store: Store, ids: readonly string[]): Promise<void> {
  assert.equal(
    (await store.items.list({ limit: 1000 })).map(({ id }) => id).sort(),
    [...ids].sort(),
  );
  assert.equal(
    (await store.deliveries.list({ limit: 1000 })).map(({ itemId }) => itemId).sort(),
    [...ids].sort(),
  );
  for (const id of ids) assert.equal((await store.known(id))?.answer, { id });
  assert.is(
    (await store.take(limit.key, 0, limit.max, limit.windowMs)).remaining,
    limit.max - ids.length,
  );
  assert.is(await store.pending("main", "wake"), ids.length);
  assert.equal(await store.check(), []);
}
const named = (prefix: string, count: number) =>
  Array.from({ length: count }, (_, n) => `${prefix}${n}`);

test("what the power's failure took from the tables comes back, and the rest is not there twice", async () => {
  const crash = powerFailure(t.file, "failed");
  const warm = named("w", await warmUp(t.store, t.file));
  // a read brings them into the tables, and leaves them in the journal
  const later = await inJournalAlone([crash], warm, 5, () => t.store.items.get("w0"));
  crash.journal();
  for (let start = 0; start < 2; start++) {
    const store = await reopened(crash.file);
    await expectAll(store, [...warm, ...later]);
    assert.not.ok(existsSync(journalOf(crash.file)));
    await store.close();
  }
  await expectAll(t.store, [...warm, ...later]);
});

test("a journal whose last entry is torn, or that holds older ones behind it, gives all before it", async () => {
  const warm = named("w", await warmUp(t.store, t.file));
  const cut = powerFailure(t.file, "cut");
  const garbage = powerFailure(t.file, "garbage");
  // into the tables, and on the disk with what is written now: the next entry is the first of the file again
  const prepare = () => t.store.kv.set("n", "k", 1);
  const [first = ""] = await inJournalAlone([cut, garbage], warm, 2, prepare);
  const end = bytesOf(t.file).readUInt32LE(0) + 16;
  for (const [crash, length] of [
    [cut, 40],
    [garbage, 1],
  ] as const) {
    const bytes = bytesOf(t.file);
    bytes.fill(0x5a, end + length, end + 2 * length);
    writeFileSync(journalOf(crash.file), length === 40 ? bytes.subarray(0, end + length) : bytes);
    const store = await reopened(crash.file);
    await expectAll(store, [...warm, first]);
    await store.close();
  }
});

test("long entries in any alphabet fill the journal more than once: each is there, also after a power failure", async () => {
  const warm = named("w", await warmUp(t.store, t.file));
  const bodies = new Map(
    named("t", 16).map(
      (id, n) => [id, ["x", "é", "語", "😀"][n % 4]?.repeat(45_000 - n * 1000)] as const,
    ),
  );
  for (const [id, body] of bodies)
    await t.store.enqueue({ items: [{ id, lane: "main", kind: "wake", body }] });
  const crash = powerFailure(t.file, "long");
  crash.tables();
  crash.journal();
  const store = await reopened(crash.file);
  for (const [id, body] of bodies) assert.ok((await store.items.get(id))?.body === body, id);
  assert.is((await store.items.list({ limit: 1000 })).length, warm.length + bodies.size);
  await store.close();
});

test("a repeated key is known and a limit counts, before anything is in the tables", async () => {
  await warmUp(t.store, t.file);
  assert.is((await wake(t.store, "a")).duplicate, undefined);
  assert.equal((await wake(t.store, "b", "a")).duplicate?.answer, { id: "a" });
  const narrow = (id: string) =>
    t.store.enqueue({
      limit: { key: "n", max: 2, windowMs: 1000 },
      items: [{ id, lane: "x", kind: "wake", body: 0 }],
    });
  assert.equal(
    [await narrow("1"), await narrow("2"), await narrow("3")].map((one) => one.limit?.allowed),
    [true, true, false],
  );
  assert.is(await t.store.items.get("b"), undefined);
  assert.is(await t.store.pending("x", "wake"), 2);
});

test("work that somebody waits for is in the tables when it is accepted", async () => {
  await warmUp(t.store, t.file);
  const woken = new Promise<void>((resolve) => t.store.onWork("turn", resolve));
  await t.store.enqueue({ items: [{ id: "turn", lane: "x", kind: "turn", body: 0 }] });
  await woken;
  assert.is((await t.store.claim("me", 1, 1000, ["turn"]))[0]?.item.id, "turn");
});

test("where others use the store too, nothing waits in a journal; one that was left behind is taken up", async () => {
  const crash = powerFailure(t.file, "shared");
  const warm = named("w", await warmUp(t.store, t.file));
  const [last = ""] = await inJournalAlone([crash], warm, 1);
  crash.journal();
  const store = openStore({
    url: crash.file,
    log: quietLog(),
    clock: () => t.clock.now,
    sharedBy: "workers",
  });
  await wake(store, "b0");
  await wake(store, "b1");
  await expectAll(store, [...warm, last, "b0", "b1"]);
  assert.not.ok(existsSync(journalOf(crash.file)));
  await store.close();
});

test("once a second process has the store open, what one accepts the other knows at once, limits exact over both", async () => {
  const own = openStore({ url: t.file, log: quietLog() });
  const warm = await warmUp(own, t.file);
  await wake(own, "mine");
  let told = 0;
  own.onWork("anything", () => void told++);
  assert.equal([own.inSoleUse(), told], [true, 0]);
  const other = openInChild(t.file);
  await other.ask("open");
  await until("whoever waits for work to be told", () => told === 1);
  assert.is(own.inSoleUse(), false);
  assert.not.ok(existsSync(journalOf(t.file)), "it waits in no journal of ours any more");
  assert.equal(await other.ask("enqueue", "mine"), { duplicate: { id: "mine" } });
  const narrow = (id: string) =>
    own.enqueue({
      limit: { key: "both", max: 10, windowMs: 60_000 },
      dedup: { key: id, ttlMs: 60_000, answer: {} },
    });
  const both = await Promise.all(
    named("n", 40).map((id, n) =>
      n % 2
        ? other.ask("narrow", id)
        : narrow(id).then(({ limit }) => ({ allowed: limit?.allowed })),
    ),
  );
  assert.is(both.filter((one) => (one as { allowed?: boolean }).allowed).length, 10);
  await other.end();
  assert.is((await own.items.list({ limit: 1000 })).length, warm + 1);
  await own.close();
});

test("a second process may open the store whose first one was killed with a journal, and a third beside it", async () => {
  const first = openInChild(t.file);
  await first.ask("open");
  await until("its journal is used", async () => {
    await first.ask("enqueue", `f${Math.random()}`);
    return journalIsUsed(t.file);
  });
  await first.ask("enqueue", "last");
  const second = openInChild(t.file);
  void first.kill();
  await second.ask("open");
  assert.equal(await second.ask("enqueue", "last"), { duplicate: { id: "last" } });
  const third = openStore({ url: t.file, log: quietLog() });
  assert.equal((await third.known("last"))?.answer, { id: "last" });
  await wake(third, "third");
  assert.equal(await second.ask("enqueue", "third"), { duplicate: { id: "third" } });
  await third.close();
  await second.end();
});

test("kill -9 with few callers: each acknowledged one is there, once, whatever was only in the journal", async () => {
  let kept = 0;
  for (let round = 0; round < 4; round++) {
    const child = spawn(process.execPath, [
      ...program(join(import.meta.dirname, "writer.program.ts")),
      t.file,
      `r${round}`,
      "3",
      "0",
    ]);
    let output = "";
    child.stdout.on("data", (bytes: Buffer) => (output += bytes.toString()));
    await until("some writes", () => output.split("added").length > 100 * (round + 1));
    child.kill("SIGKILL");
    await once(child, "close");
    if (existsSync(journalOf(t.file))) kept++;
    const store = openStore({ url: t.file, log: quietLog() });
    for (const [, id = ""] of output.slice(0, output.lastIndexOf("\n")).matchAll(/added (\S+)/g)) {
      assert.ok(await store.items.get(id), `${id} was acknowledged and is gone`);
      assert.ok(await store.deliveries.get(`d-${id}`), `the delivery of ${id} is gone`);
    }
    assert.equal(await store.check(), []);
    await store.close();
  }
  assert.is(kept, 4);
});

test("closed in order, it leaves no journal; all of it is the user's own", async () => {
  await warmUp(t.store, t.file);
  for (const end of ["-accepted", "-accepted-lock"])
    assert.is(statSync(t.file + end).mode & 0o777, 0o600);
  await t.store.close();
  assert.not.ok(existsSync(journalOf(t.file)));
});

test("closed while its journal is being made, it leaves none either", async () => {
  await wake(t.store, "first");
  await t.store.close();
  assert.not.ok(existsSync(journalOf(t.file)));
  const again = await reopened(t.file);
  await expectAll(again, ["first"]);
  await again.close();
});

test.run();
