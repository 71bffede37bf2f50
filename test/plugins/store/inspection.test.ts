/** `portico store check` without a gateway, of a home's store and of copies; and what a gateway's damaged store answers. */
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import Libsql from "libsql";
import * as assert from "uvu/assert";
import { openStore } from "../../../plugins/store/open.ts";
import { startGateway } from "../../support/gateway.ts";
import { porticoHere } from "../../support/portico.ts";
import { quietLog } from "../../support/quiet-log.ts";
import { suite } from "../../support/suite.ts";
import { temporaryDir } from "../../support/temporary.ts";

const test = suite("a store that no gateway has open");
const dir = temporaryDir("portico-inspection-");
const home = join(dir, "home");
const own = join(home, "state", "portico.db");
const copy = join(dir, "a copy? #1.db");

const check = (...words: string[]) => porticoHere(home, ["store", "check", ...words]);
const here = (name: string) => join(dir, name);

test.before(async () => {
  mkdirSync(home);
  const store = openStore({ url: own, log: quietLog() });
  await store.enqueue({
    items: [1, 2, 3].map((n) => ({ id: `i${n}`, lane: "l", kind: "turn", body: { n } })),
  });
  for (let n = 0; n < 40; n++) await store.kv.set("n", `k${n}`, "x".repeat(1000));
  const came = { source: "wake", outcome: "accepted" };
  await store.enqueue({ deliveries: [1, 2, 3, 4, 5].map((n) => ({ ...came, id: `d${n}` })) });
  await store.backup(copy);
  // as `kill -9` leaves it
  for (const end of ["", "-wal"]) copyFileSync(`${own}${end}`, here(`killed.db${end}`));
  copyFileSync(own, here("without its log.db"));
  await store.close();
  writeFileSync(here("empty.db"), "");
  const good = readFileSync(copy);
  writeFileSync(here("cut.db"), good.subarray(0, 3 * 4096));
  writeFileSync(here("less than a page.db"), good.subarray(0, 100));
  const bad = Buffer.from(good);
  for (let at = 4096; at < bad.length; at += 4096) bad.fill(0xff, at, at + 64);
  writeFileSync(here("flipped.db"), bad);
  writeFileSync(here("packed.db"), Buffer.from("1f8b0800", "hex"));
  alter("newer.db", "PRAGMA user_version = 999");
  alter("no text.db", "UPDATE kv SET value = CAST(x'22ff22' AS TEXT) WHERE key = 'k7'");
  alter("without a table.db", "DROP TABLE kv");
  alter("contradictory.db", "DELETE FROM lanes");
  alter("older.db", "DROP TABLE usage_requests; PRAGMA user_version = 2");
  const foreign = new Libsql(here("foreign.db"));
  foreign.exec("CREATE TABLE notes (text)");
  foreign.close();
});

function alter(name: string, sql: string): void {
  copyFileSync(copy, here(name));
  const db = new Libsql(here(name));
  db.exec(sql);
  db.close();
}

test("a sound store is reported as sound, with its contents", async () => {
  for (const words of [[], [own], [`file:${own}`], [copy], [here("killed.db")]]) {
    const { code, stdout, stderr } = await check(...words);
    assert.equal([code, stderr.replace(/^checking .*\n/, "")], [0, ""], words.join());
    assert.match(
      stdout,
      /is sound: [\d.]+ kB, schema \d+, items 3, lanes 1, kv 40, deliveries 5\.\n$/,
    );
  }
  assert.match((await check(here("older.db"))).stdout, /is sound: .* schema 2, items 3/);
  const report = JSON.parse((await check(copy, "--json")).stdout) as {
    ok: boolean;
    rows: Record<string, number>;
  };
  const { counters, ...rows } = report.rows;
  assert.equal([report.ok, rows], [true, { items: 3, lanes: 1, kv: 40, deliveries: 5 }]);
  assert.ok(counters! >= 2);
});

for (const [name, message] of [
  ["nowhere.db", /there is no such file\. Choose another store/],
  [".", /it is not a regular file/],
  ["empty.db", /it is empty\. Use an older copy/],
  ["cut.db", /\. Use an older copy/],
  ["less than a page.db", /it is damaged\. Use an older copy/],
  ["flipped.db", /\. Use an older copy/],
  [
    "no text.db",
    /the table kv is damaged: 1 row holds bytes that are not text.*\. Use an older copy/,
  ],
  ["packed.db", /it is not a database\. Decompress the file/],
  ["without its log.db", /it contains no tables\. .* not a complete copy.*portico store backup/],
  ["foreign.db", /not the store of a gateway\. Choose another store/],
  [
    "newer.db",
    /by a newer version of Portico \(its schema is 999, but this version knows only schemas up to \d+\)\. Update Portico/,
  ],
  ["without a table.db", /its table kv is missing\. Use an older copy/],
  [
    "contradictory.db",
    /3 queued or running items belong to no queue \(lane\)\. Use an older copy, or accept/,
  ],
] as const) {
  test(`of ${name} it says what is wrong and what to do, fails, and changes nothing`, async () => {
    const before = () => readdirSync(dir).map((file) => [file, statSync(here(file)).mtimeMs]);
    const files = before();
    const { code, stdout, stderr } = await check(here(name), "--json");
    assert.is(code, 1);
    assert.match(stderr, message);
    assert.is((JSON.parse(stdout) as { ok: boolean }).ok, false);
    assert.equal(before(), files);
  });
}

test("without a gateway and a store there is nothing to check, and no store is created", async () => {
  const empty = temporaryDir("portico-inspection-");
  const { code, stderr } = await porticoHere(empty, ["store", "check"]);
  assert.is(code, 1);
  assert.match(stderr, /portico\.db does not exist/);
  assert.not.ok(existsSync(join(empty, "state")));
  const strange = await check("mysql://u:secret-word@x/y");
  assert.equal([strange.code, /secret/.test(strange.stderr)], [1, false], strange.stderr);
});

test("a gateway's damaged store fails status and check", async () => {
  const gateway = await startGateway({ config: { store: { url: here("flipped.db") } } });
  try {
    const ask = (word: string) =>
      porticoHere(gateway.home, ["store", word], { ...process.env, PORTICO_URL: gateway.url });
    const status = await ask("status");
    assert.is(status.code, 1);
    assert.match(status.stderr, /portico store check/);
    assert.match(status.stdout, /damaged/);
    const checked = await ask("check");
    assert.is(checked.code, 1);
    assert.match(checked.stderr, /state\/backups/);
  } finally {
    await gateway.stop();
  }
});

test("copies that are made at the same time have names of their own", async () => {
  const gateway = await startGateway({});
  try {
    const copies = await Promise.all(
      Array.from({ length: 8 }, () => gateway.json("POST", "/store/backup")),
    );
    assert.is(new Set(copies.map(({ name }) => name)).size, 8, JSON.stringify(copies));
    assert.equal(
      readdirSync(join(gateway.home, "state", "backups")).sort(),
      copies.map(({ name }) => name).sort(),
    );
  } finally {
    await gateway.stop();
  }
});

test.run();
