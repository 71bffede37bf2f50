/** A disk that is full: what was accepted is there for all, and nothing is acknowledged that is not. */
import { execFileSync } from "node:child_process";
import { statSync } from "node:fs";
import * as assert from "uvu/assert";
import { test } from "../../support/suite.ts";
import { until } from "../../support/until.ts";
import { killCallers, openInChild } from "./caller.ts";
import { type TemporaryStore, temporaryStore } from "./temporary-store.ts";

let t: TemporaryStore;
test.before.each(() => {
  t = temporaryStore();
});
test.after.each(async () => {
  killCallers();
  await t.remove();
});

test("a full disk: writes are refused, reads go on, and writes go on once there is room", async () => {
  const child = openInChild(t.file);
  const limitFileSize = (bytes: number | "unlimited") =>
    execFileSync("prlimit", ["--pid", String(child.pid), `--fsize=${bytes}:unlimited`]);
  await child.ask("open");
  assert.equal(await child.ask("enqueue", "a"), { duplicate: undefined });
  // no further page finds room in the write-ahead log
  limitFileSize(statSync(`${t.file}-wal`).size);
  const accepted = { known: { id: "a" }, delivery: "d-a" };
  for (const id of ["b", "b2"])
    assert.equal(await child.ask("enqueue", id), { refused: "store_unavailable" });
  assert.equal(await child.ask("known", "a"), accepted);
  assert.equal(await child.ask("known", "b"), { known: undefined, delivery: undefined });
  limitFileSize("unlimited");
  await until(
    "there is room",
    async () => !("refused" in ((await child.ask("enqueue", "c")) as object)),
  );
  await child.kill();
  for (const id of ["a", "c"]) assert.is((await t.store.deliveries.get(`d-${id}`))?.id, `d-${id}`);
  for (const id of ["b", "b2"]) assert.is(await t.store.deliveries.get(`d-${id}`), undefined);
  assert.equal(await t.store.check(), []);
});

test.run();
