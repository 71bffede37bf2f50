/** Who else may read the store, and what becomes of an address that cannot be right. */
import { execFileSync } from "node:child_process";
import { chmodSync, closeSync, mkdirSync, openSync, statSync } from "node:fs";
import { join } from "node:path";
import * as assert from "uvu/assert";
import { openStore } from "../../../plugins/store/open.ts";
import { makePrivateDir } from "../../../plugins/store/private-files.ts";
import { applyRetention } from "../../../plugins/store/records/retention.ts";
import { startGateway } from "../../support/gateway.ts";
import { quietLog } from "../../support/quiet-log.ts";
import { suite } from "../../support/suite.ts";
import { temporaryDir } from "../../support/temporary.ts";
import { temporaryStore } from "./temporary-store.ts";

const test = suite("the store's files and address");
const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8);

let umask: number;
test.before(() => {
  umask = process.umask(0);
});
test.after(() => void process.umask(umask));

test("the file, its log and its copies are private to the user, and so are the directories created for them", async () => {
  const dir = join(temporaryDir("portico-modes-"), "made", "for it");
  const store = openStore({ url: `file:${dir}/a.db`, log: quietLog() });
  await store.kv.set("n", "k", 1);
  assert.equal(
    ["", "-wal", "-shm"].map((end) => modeOf(join(dir, `a.db${end}`))),
    ["600", "600", "600"],
  );
  makePrivateDir(join(dir, "copies"));
  await store.backup(join(dir, "copies", "b.db"));
  assert.is(modeOf(join(dir, "copies", "b.db")), "600");
  assert.equal([dir, join(dir, ".."), join(dir, "copies")].map(modeOf), ["700", "700", "700"]);
  await store.close();
  const copy = openStore({ url: `file:${dir}/copies/b.db`, log: quietLog() });
  assert.is(await copy.kv.get("n", "k"), 1);
  await copy.close();
});

test("a file that others could read becomes private when it is opened", async () => {
  const file = join(temporaryDir("portico-modes-"), "a.db");
  for (const end of ["", "-wal", "-shm"]) closeSync(openSync(`${file}${end}`, "w", 0o666));
  chmodSync(file, 0o644);
  const store = openStore({ url: file, log: quietLog() });
  await store.kv.set("n", "k", 1);
  assert.equal(
    ["", "-wal", "-shm"].map((end) => modeOf(`${file}${end}`)),
    ["600", "600", "600"],
  );
  await store.close();
});

test("a payload comes back unchanged, with its NUL characters", async () => {
  const store = openStore({ url: join(temporaryDir("portico-nul-"), "a.db"), log: quietLog() });
  const payload = "before \0 after";
  await store.deliveries.append({ id: "d", source: "s", outcome: "accepted", payload });
  assert.is((await store.deliveries.get("d"))?.payload, payload);
  await store.close();
});

test("an existing directory keeps its mode, since it may be shared", async () => {
  const dir = join(temporaryDir("portico-modes-"), "shared");
  mkdirSync(dir, { mode: 0o755 });
  const store = openStore({ url: join(dir, "a.db"), log: quietLog() });
  await store.open();
  assert.is(modeOf(dir), "755");
  await store.close();
});

const filePath = join(temporaryDir("portico-modes-"), "a file");
closeSync(openSync(filePath, "w"));

const pipe = join(temporaryDir("portico-modes-"), "pipe");
execFileSync("mkfifo", ["-m", "644", pipe]);

for (const [what, url, message] of [
  ["a scheme that is no engine", "mysql://localhost/portico", /store\.url must be file:/],
  ["a relative path", "file:portico.db", /store\.url must be file:/],
  ["nothing", "", /store\.url must be file:/],
  ["a host in a file's address", "file://elsewhere/portico.db", /store\.url/],
  ["a directory", "/tmp", /names a directory/],
  ["a pipe", pipe, /a device or a pipe/],
  ["a path below a file", `${filePath}/portico.db`, /cannot be created \((EEXIST|ENOTDIR)\)/],
  ["a path that cannot be created", "/proc/nowhere/portico.db", /cannot be created/],
] as const) {
  test(`a gateway does not start with a store.url that is ${what}`, async () => {
    try {
      await (await startGateway({ config: { store: { url } } })).stop();
    } catch (error) {
      assert.match((error as Error).message, message);
      return;
    }
    assert.unreachable("it has started");
  });
}

test("unnamed sessions are removed, and an event reports it; named ones stay, whatever their name", async () => {
  const t = temporaryStore();
  const { store, clock } = t;
  for (const id of ["main", "webhook:ci"]) await store.sessions.put(id, {});
  for (const id of ["webhook:old", "cron:old", "named later"])
    await store.sessions.put(id, { temporary: true });
  await store.sessions.put("named later", { temporary: null });
  clock.now += 31 * 86_400_000;
  await store.sessions.put("webhook:new", { temporary: true });
  const forgotten: string[] = [];
  const never = { itemsDays: 0, deadDays: 0, deliveriesDays: 0, usageDays: 0 };
  await applyRetention(store, { ...never, sessionsDays: 30 }, (id) => void forgotten.push(id));
  assert.equal(forgotten.sort(), ["cron:old", "webhook:old"]);
  assert.equal((await store.sessions.list({})).map(({ id }) => id).sort(), [
    "main",
    "named later",
    "webhook:ci",
    "webhook:new",
  ]);
  await t.remove();
});

test.run();
