/** A home whose earlier version was killed with entries in a journal of its own: the next start brings them in, once. */
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import * as assert from "uvu/assert";
import { openStore } from "../../../plugins/store/open.ts";
import type { Store } from "../../../plugins/store/types.ts";
import { quietLog } from "../../support/quiet-log.ts";
import { temporaryDir } from "../../support/temporary.ts";
import { test } from "../../support/suite.ts";

const JOURNAL_BYTES = 1 << 20;
const limit = { key: "l", max: 10, windowMs: 3_600_000 };

function acceptance(id: string): object {
  return {
    dedup: { key: id, ttlMs: 3_600_000, answer: { id } },
    limit,
    items: [{ id, lane: "main", kind: "wake", body: { text: `words of ${id} ü` } }],
    deliveries: [{ id: `d-${id}`, source: "test", outcome: "accepted", itemId: id }],
  };
}

/** As earlier versions have written it: length, checksum, number, text. */
function encode(number: number, entry: object): Buffer {
  const text = Buffer.from(JSON.stringify({ now: Date.now(), entry }));
  const bytes = Buffer.alloc(16 + text.length);
  bytes.writeUInt32LE(text.length, 0);
  bytes.writeDoubleLE(number, 8);
  text.copy(bytes, 16);
  bytes.writeUInt32LE(crc32(bytes.subarray(8)), 4);
  return bytes;
}

function writeJournal(file: string, entries: readonly Buffer[]): void {
  const bytes = Buffer.alloc(JOURNAL_BYTES);
  Buffer.concat(entries).copy(bytes);
  writeFileSync(`${file}-accepted`, bytes);
}

async function withStore<T>(file: string, work: (store: Store) => Promise<T>): Promise<T> {
  const store = openStore({ url: file, log: quietLog() });
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}

const idsIn = async (store: Store): Promise<string[]> =>
  (await store.items.list()).map(({ id }) => id).sort();

test("accepted entries are moved into the tables with their key and their share of the limit", async () => {
  const file = join(temporaryDir("portico-journal-"), "portico.db");
  await withStore(file, (store) => store.open());
  writeJournal(file, [encode(1, acceptance("a")), encode(2, acceptance("b"))]);
  await withStore(file, async (store) => {
    assert.equal(await idsIn(store), ["a", "b"]);
    assert.equal((await store.known("a"))?.answer, { id: "a" });
    assert.is((await store.deliveries.get("d-b"))?.itemId, "b");
    assert.is((await store.take(limit.key, 1, limit.max, limit.windowMs)).remaining, 7);
    assert.is(existsSync(`${file}-accepted`), false);
  });
  await withStore(file, async (store) => assert.equal(await idsIn(store), ["a", "b"]));
});

test("an entry that the tables already contain is not added again", async () => {
  const file = join(temporaryDir("portico-journal-"), "portico.db");
  await withStore(file, (store) => store.open());
  writeJournal(file, [encode(1, acceptance("a"))]);
  await withStore(file, (store) => store.open());
  // a crash came between the commit and the removal of the file
  writeJournal(file, [encode(1, acceptance("again")), encode(2, acceptance("b"))]);
  await withStore(file, async (store) => assert.equal(await idsIn(store), ["a", "b"]));
});

test("a torn entry and the bytes after it from an earlier round are no entries", async () => {
  const file = join(temporaryDir("portico-journal-"), "portico.db");
  await withStore(file, (store) => store.open());
  const torn = encode(8, acceptance("torn")).fill(0, 40);
  writeJournal(file, [encode(7, acceptance("a")), torn]);
  await withStore(file, async (store) => assert.equal(await idsIn(store), ["a"]));
  writeJournal(file, [encode(9, acceptance("b")), encode(5, acceptance("old"))]);
  await withStore(file, async (store) => assert.equal(await idsIn(store), ["a", "b"]));
});

test("an entry that the tables refuse does not block the others or the opening of the store", async () => {
  const file = join(temporaryDir("portico-journal-"), "portico.db");
  await withStore(file, (store) => store.open());
  const refused = { items: [{ id: "x", lane: "main", kind: null, body: 1 }] };
  writeJournal(file, [encode(1, refused), encode(2, acceptance("b"))]);
  await withStore(file, async (store) => assert.equal(await idsIn(store), ["b"]));
});

test.run();
