/** One engine's state moved to the other, and copies of both. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as assert from "uvu/assert";
import { openEngine, openStore } from "../../../../plugins/store/open.ts";
import {
  type Source,
  transfer,
  type TransferOptions,
} from "../../../../plugins/store/transfer/transfer.ts";
import { tables } from "../../../../plugins/store/transfer/tables.ts";
import { readCopyMark } from "../../../../plugins/store/sql/incomplete-copy.ts";
import type { Store } from "../../../../plugins/store/types.ts";
import { portico, porticoHere } from "../../../support/portico.ts";
import { makeHome } from "../../../support/gateway.ts";
import { startPostgres, type TestPostgres } from "../../../support/machine/postgres.ts";
import { quietLog } from "../../../support/quiet-log.ts";
import { suite } from "../../../support/suite.ts";
import { temporaryDir } from "../../../support/temporary.ts";

const test = suite("moving a store");
let server: TestPostgres;
test.before(async () => {
  server = await startPostgres({ settings: ["fsync=off"] });
});
test.after(() => server.stop());

const log = quietLog();
const fileUrl = () => `file:${join(temporaryDir("portico-move-"), "a.db")}`;

/** More than a page of items, and something in every table. */
async function fill(url: string): Promise<void> {
  const store = openStore({ url, log });
  const items = Array.from({ length: 1100 }, (_, n) => ({
    id: `i${n}`,
    lane: `l${n % 9}`,
    kind: "turn",
    body: { n },
  }));
  const deliveries = [{ id: "d1", source: "s", outcome: "accepted", payload: "nul \0 and ümlaut" }];
  await store.enqueue({
    items,
    deliveries,
    dedup: { key: "d", ttlMs: 1e9, answer: 1 },
    limit: { key: "k", max: 5, windowMs: 1e9 },
  });
  const [claim] = await store.claim("w", 1, 30_000, ["turn"]);
  assert.ok(
    claim &&
      (await store.finish(claim, {
        state: "retry",
        at: store.now() + 12.5,
        error: { code: "x", message: "y" },
      })),
  );
  await store.schedules.put({
    kind: "cron",
    id: "j",
    enabled: true,
    nextAt: 5,
    body: {},
    cursor: ["a"],
  });
  await store.kv.set("n", "k", "v", { ttlMs: 1e9 });
  await store.sessions.append("s", [{ role: "user", body: "hello" }]);
  await store.runs.put({ id: "r", owner: "o", at: 1, status: "ok" });
  await store.reservations.reserve({ id: "req_1", holder: "p", ttlMs: 60_000 }, [
    { key: "key:k:tokens", window: { ms: 60_000 }, max: 10, amount: 2.5 },
  ]);
  await store.usage.append([{ cost: 0.125 }, { cost: 0.125, tag: "night" }], {
    blocks: [{ requests: 2, firstAt: 1, lastAt: 2, lines: "x" }],
    keep: 10,
  });
  await store.close();
}

async function move(
  from: string,
  to: string,
  change = (source: Source): Source => source,
  more: Partial<TransferOptions> = {},
) {
  const engines = [
    openEngine({ url: from, log }),
    openEngine({ url: to, log, acceptsIncomplete: true }),
  ] as const;
  try {
    return await transfer(change(engines[0]), engines[1], { from, ...more });
  } finally {
    for (const engine of engines) await engine.close();
  }
}

async function using<T>(url: string, work: (store: Store) => Promise<T>): Promise<T> {
  const store = openStore({ url, log });
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}

test("every table of the migrations is known with its key", () => {
  assert.is(tables.length, 15);
  for (const { name, key, columns } of tables) {
    assert.ok(key.length > 0 && key.every((column) => columns.includes(column)), name);
    assert.ok(
      columns.every((column) => /^[a-z][a-z0-9_]*$/.test(column)),
      `${name}: ${columns}`,
    );
  }
});

test("after a move there and back, everything is unchanged and work continues", async () => {
  const [first, middle, last] = [fileUrl(), server.emptyUrl(), fileUrl()];
  await fill(first);
  const there = await move(first, middle);
  const back = await move(middle, last);
  assert.equal(there, back);
  assert.is(there["items"]?.rows, 1100);
  for (const { name } of tables) assert.ok((there[name]?.rows ?? 0) > 0, `${name} is empty`);
  for (const url of [middle, last]) {
    await using(url, async (store) => {
      assert.equal(await store.check(), []);
      assert.is((await store.deliveries.get("d1"))?.payload, "nul \0 and ümlaut");
      await store.enqueue({ items: [{ id: "new", lane: "new", kind: "turn", body: 1 }] });
      assert.ok(((await store.items.get("new"))?.seq ?? 0) > 1100);
      assert.is((await store.claim("w", 100, 1000, ["turn"])).length >= 9, true);
    });
  }
});

test("an interrupted move continues where it stopped, and another source is refused", async () => {
  const [from, to] = [fileUrl(), server.emptyUrl()];
  await fill(from);
  let reads = 0;
  const breaksOff = (source: Source): Source => ({
    read: (operation) => {
      if (++reads > 3) throw new Error("the cable");
      return source.read(operation);
    },
  });
  await move(from, to, breaksOff).then(
    () => assert.unreachable(),
    (error: Error) => assert.is(error.message, "the cable"),
  );
  const other = fileUrl();
  await fill(other);
  const refused = await move(other, to).catch((error: { code: string }) => error);
  assert.is((refused as { code: string }).code, "conflict");
  assert.is((await move(from, to))["items"]?.rows, 1100);
  assert.is(
    ((await move(from, to).catch((error: { code: string }) => error)) as { code: string }).code,
    "conflict",
  );
});

for (const [name, emptyUrl] of [
  ["a file", fileUrl],
  ["PostgreSQL", () => server.emptyUrl()],
] as const)
  test(`what was not moved to its end is no store (${name}), until the rest has come`, async () => {
    const [from, to] = [fileUrl(), emptyUrl()];
    await fill(from);
    const confirm = () => Promise.reject(new Error("not quite"));
    await move(from, to, undefined, { confirm }).then(
      () => assert.unreachable(),
      ({ message }: Error) => assert.is(message, "not quite"),
    );
    const refused = await using(to, (store) => store.open()).catch((error: Error) => error.message);
    assert.match(
      String(refused),
      /an incomplete copy of another store.*portico store migrate` again/,
    );
    const onward = await porticoHere(makeHome(), [
      "store",
      "migrate",
      "--from",
      to,
      "--to",
      fileUrl(),
    ]);
    assert.match(onward.stderr, /--from.* an incomplete copy of another store/);
    const checked = await porticoHere(makeHome(), ["store", "check", to]);
    assert.match(
      checked.stderr,
      /it contains an incomplete copy of another store.*portico store migrate` again/,
    );
    await move(from, to);
    await using(to, async (store) => assert.equal(await store.check(), []));
  });

test("numbers are given behind those that came before the copy counts as whole", async () => {
  const [from, to] = [fileUrl(), server.emptyUrl()];
  await fill(from);
  const engines = [
    openEngine({ url: from, log }),
    openEngine({ url: to, log, acceptsIncomplete: true }),
  ] as const;
  let markThen: number | undefined;
  const finishCopy = async () => {
    markThen = await engines[1].read(readCopyMark);
  };
  await transfer(engines[0], { ...engines[1], finishCopy }, { from });
  for (const engine of engines) await engine.close();
  assert.type(markThen, "number");
});

test("rows are read and written in batches that fit, however large they are", async () => {
  const [from, middle, to] = [fileUrl(), server.emptyUrl(), fileUrl()];
  await using(from, async (store) => {
    for (let n = 0; n < 12; n++)
      await store.sessions.append("s", [{ role: "user", body: "x".repeat(1024 * 1024) }]);
    await store.sessions.append("s", [{ role: "user", body: "y".repeat(12 * 1024 * 1024) }]);
  });
  let most = 0;
  const watched = (source: Source): Source => ({
    async read(operation) {
      const result = await source.read(operation);
      if (Array.isArray(result))
        most = Math.max(most, result.length > 1 ? JSON.stringify(result).length : 0);
      return result;
    },
  });
  const there = await move(from, middle, watched);
  assert.equal(await move(middle, to, watched), there);
  assert.is(there["messages"]?.rows, 13);
  assert.ok(most > 1024 * 1024 && most < 9 * 1024 * 1024, `${most} at a time`);
});

test("a source that changes during the move is noticed", async () => {
  const [from, to] = [fileUrl(), server.emptyUrl()];
  await fill(from);
  let reads = 0;
  const changes = (source: Source): Source => ({
    async read(operation) {
      if (++reads === 3) await using(from, (store) => store.items.cancel("i5"));
      return source.read(operation);
    },
  });
  const error = (await move(from, to, changes).catch((thrown: Error) => thrown)) as Error;
  assert.match(
    error.message,
    /items: the copy \(1100 rows\) differs from the source \(1100 rows\)/,
  );
});

test("a copy of a store in PostgreSQL is a file that opens", async () => {
  const [from, url] = [fileUrl(), server.emptyUrl()];
  await fill(from);
  await move(from, url);
  const file = join(temporaryDir("portico-move-"), "copy.db");
  await using(url, async (store) => {
    const writing = store.kv.set("n", "later", 1);
    assert.ok((await store.backup(file)).bytes > 0);
    await writing;
    assert.is(
      ((await store.backup(file).catch((error: { code: string }) => error)) as { code: string })
        .code,
      "conflict",
    );
  });
  await using(file, async (store) => {
    assert.equal(await store.check(), []);
    assert.is((await store.items.get("i1099"))?.state, "queued");
  });
});

test("portico store check looks into a database without a gateway, and changes nothing in it", async () => {
  const url = server.emptyUrl();
  const schema = /search_path%3D(\w+)/.exec(url)?.[1] ?? assert.unreachable(url);
  const check = (address = url) => porticoHere(makeHome(), ["store", "check", address]);
  const empty = await check();
  assert.match(
    empty.stderr,
    /it is a database, but not the store of a gateway\. Choose another store/,
  );
  assert.match(server.sql(`SELECT count(*) FROM pg_tables WHERE schemaname = '${schema}'`), /^0$/m);
  await fill(url);
  const sound = await check();
  assert.equal(
    [sound.code, sound.stdout.includes("items 1100")],
    [0, true],
    sound.stdout + sound.stderr,
  );
  server.sql(`DELETE FROM ${schema}.lanes`);
  assert.match((await check()).stderr, /1100 queued or running items belong to no queue \(lane\)/);
  server.sql(`UPDATE ${schema}.portico_schema SET version = 999`);
  assert.match((await check()).stderr, /by a newer version of Portico/);
  const wrong = await check(url.replace(/\/\/([^@/]*@)?/, "//nobody:secret-word@"));
  assert.equal(
    [wrong.code, /secret-word/.test(wrong.stderr + wrong.stdout)],
    [1, false],
    wrong.stderr,
  );
});

test("portico store migrate moves this home's store and reports what it moved", async () => {
  const home = makeHome();
  await fill(`file:${home}/state/portico.db`);
  const url = server.emptyUrl();
  const moved = await portico(home, ["store", "migrate", "--to", url]);
  assert.is(moved.code, 0, moved.stderr);
  assert.match(moved.stdout, /items: 1100 rows, identical in source and copy/);
  await using(url, async (store) =>
    assert.is((await store.items.stats()).kinds["turn"]?.queued, 1100),
  );
  const again = await porticoHere(home, ["store", "migrate", "--to", url]);
  assert.is(again.code, 1);
  assert.match(again.stderr, /already contains a store/);
  const nowhere = await porticoHere(home, [
    "store",
    "migrate",
    "--to",
    "mysql://u:secret-word@x/y",
  ]);
  assert.is(nowhere.code, 1);
  assert.not.match(nowhere.stderr + again.stderr, /secret-word/);
  assert.match(nowhere.stderr, /--to cannot be used/);
});

test("a source that is in use or empty is not moved", async () => {
  for (const [name, from] of [
    ["a file", fileUrl()],
    ["PostgreSQL", server.emptyUrl()],
  ] as const) {
    const target = fileUrl();
    const words = ["store", "migrate", "--from", from, "--to", target];
    const moved = () => porticoHere(makeHome(), words);
    await using(from, async (store) => {
      await store.open();
      // As from a shell: of a file, another process asks.
      assert.match((await portico(makeHome(), words)).stderr, "a gateway uses the source", name);
      await store.kv.set("n", "k", 1);
      await store.kv.delete("n", "k");
    });
    assert.match((await moved()).stderr, "the source is empty", name);
    assert.not.ok(existsSync(target.replace("file:", "")));
    await fill(from);
    assert.is((await moved()).code, 0, name);
  }
});

test("a target that a gateway uses is not moved into", async () => {
  const from = fileUrl();
  await fill(from);
  for (const to of [fileUrl(), server.emptyUrl()]) {
    await using(to, async (store) => {
      await store.open();
      const moved = await portico(makeHome(), ["store", "migrate", "--from", from, "--to", to]);
      assert.equal(
        [moved.code, /a gateway uses the target/.test(moved.stderr)],
        [1, true],
        moved.stderr,
      );
      assert.equal(await store.items.list(), []);
    });
  }
});

test("nothing of a damaged source is moved", async () => {
  const [from, to] = [fileUrl(), fileUrl()];
  await fill(from);
  const file = from.replace("file:", "");
  const bytes = readFileSync(file);
  bytes[bytes.indexOf("ümlaut")] = 0xff;
  writeFileSync(file, bytes);
  const moved = await porticoHere(makeHome(), ["store", "migrate", "--from", from, "--to", to]);
  assert.is(moved.code, 1, moved.stdout);
  assert.match(
    moved.stderr,
    /the source is damaged \(the table deliveries is damaged: 1 row holds bytes/,
  );
  const page = Number(bytes.readUInt16BE(16));
  for (const at of [1, 2, 3, 4].map((part) => Math.floor((bytes.length / page) * (part / 5)))) {
    const torn = Buffer.from(bytes);
    torn.fill(0xff, at * page, at * page + 64);
    writeFileSync(file, torn);
    const { code, stderr } = await porticoHere(makeHome(), [
      "store",
      "migrate",
      "--from",
      from,
      "--to",
      to,
    ]);
    assert.is(code, 1, `page ${at}`);
    assert.match(
      stderr,
      /The store was not moved(: the source is damaged|, because --from cannot be used): /,
      `page ${at}`,
    );
  }
  writeFileSync(file, bytes.subarray(0, 3 * 4096));
  const cut = await porticoHere(makeHome(), ["store", "migrate", "--from", from, "--to", to]);
  assert.match(cut.stderr, /--from cannot be used: the store's file is damaged\.$/m);
  assert.not.ok(existsSync(to.replace("file:", "")));
});

test("a missing source is reported, and neither created nor moved", async () => {
  const [missing, target] = [fileUrl(), fileUrl()];
  for (const from of [missing, missing.replace("file:", "file://"), missing.replace("file:", "")]) {
    const moved = await porticoHere(makeHome(), [
      "store",
      "migrate",
      "--from",
      from,
      "--to",
      target,
    ]);
    assert.is(moved.code, 1, moved.stdout);
    assert.match(moved.stderr, `there is no store at ${from}`);
  }
  const relative = await porticoHere(makeHome(), [
    "store",
    "migrate",
    "--from",
    "file:here.db",
    "--to",
    target,
  ]);
  assert.match(relative.stderr, "--from cannot be used");
  const unnamed = await porticoHere(makeHome(), ["store", "migrate", "--to", target]);
  assert.match(unnamed.stderr, "there is no store at file:", "a home that never ran");
  for (const url of [missing, target]) assert.not.ok(existsSync(url.replace("file:", "")));
});

test.run();
