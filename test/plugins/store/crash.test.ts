import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, copyFileSync, readFileSync, statSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { test } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import { openStore } from "../../../plugins/store/open.ts";
import type { Store } from "../../../plugins/store/types.ts";
import { program } from "../../support/runner/bundle.ts";
import { quietLog } from "../../support/quiet-log.ts";
import { until } from "../../support/until.ts";
import { random, type TemporaryStore, temporaryStore } from "./temporary-store.ts";

const WRITER = join(import.meta.dirname, "writer.program.ts");
const next = random(7);

let t: TemporaryStore;
test.before.each(() => {
  t = temporaryStore();
});
test.after.each(() => t.remove());

interface Writer {
  child: ChildProcess;
  /** The ids that the process has printed with this word so far. */
  said(word: string): string[];
  ended: Promise<unknown>;
}

function startWriter(file: string, args: readonly string[], wrap: readonly string[] = []): Writer {
  const [command = "", ...rest] = [...wrap, process.execPath, ...program(WRITER), file, ...args];
  const child = spawn(command, rest, { stdio: ["ignore", "pipe", "inherit"] });
  let output = "";
  child.stdout.on("data", (chunk: Buffer) => {
    output += chunk.toString("utf8");
  });
  return {
    child,
    ended: once(child, "close"),
    // A line that the kill cut off does not count.
    said: (word) =>
      output
        .slice(0, output.lastIndexOf("\n") + 1)
        .split("\n")
        .filter((line) => line.startsWith(`${word} `))
        .map((line) => line.split(" ")[1] as string),
  };
}

async function expectAll(store: Store, ids: readonly string[]): Promise<void> {
  for (const id of ids) {
    assert.ok(await store.items.get(id), `${id} was acknowledged and is gone`);
    assert.ok(await store.deliveries.get(`d-${id}`), `the delivery of ${id} is gone`);
  }
}

test("after kill -9 at any moment, acknowledged items exist and finished ones stay finished, once", async () => {
  let added = 0;
  for (let round = 0; round < 8; round++) {
    const writer = startWriter(t.file, [`r${round}`, "16", "0", "queue"]);
    await until("the first writes", () => writer.said("added").length > 20);
    await new Promise((resolve) => setTimeout(resolve, next() * 150));
    writer.child.kill("SIGKILL");
    await writer.ended;
    const store = openStore({ url: `file:${t.file}`, log: quietLog() });
    assert.equal(await store.check(), []);
    await expectAll(store, writer.said("added"));
    for (const id of writer.said("finished")) assert.is((await store.items.get(id))?.state, "done");
    for (let lane = 0; lane < 16; lane++) {
      const transcript = (await store.sessions.transcript(`l${lane}`)).map(
        (message) => message.body as string,
      );
      assert.is(new Set(transcript).size, transcript.length, "a finish was written twice");
      const mine = transcript.filter((id) => id.startsWith(`r${round}-`));
      assert.equal(
        mine,
        [...mine].sort((a, b) => numberOf(a) - numberOf(b)),
        "out of order",
      );
    }
    added += writer.said("added").length;
    await store.close();
  }
  console.log(`  ${added} acknowledged over 8 kills, 0 lost`);
});

function numberOf(id: string): number {
  return Number(id.split("-")[2]);
}

test("two processes on one file both make progress, and nothing is lost or damaged", async () => {
  const writers = ["a", "b"].map((name) => startWriter(t.file, [name, "8", "40"]));
  await Promise.all(writers.map((writer) => writer.ended));
  for (const writer of writers) {
    assert.equal(writer.said("refused"), []);
    assert.is(writer.said("added").length, 320);
    await expectAll(t.store, writer.said("added"));
  }
  assert.equal(await t.store.check(), []);
});

test("a torn tail of the log costs at most what lay in the tail", async () => {
  for (let n = 0; n < 50; n++) await t.store.kv.set("n", `k${String(n).padStart(3, "0")}`, n);
  for (const damage of ["cut", "garbage"]) {
    const copy = join(t.dir, `${damage}.db`);
    copyFileSync(t.file, copy);
    copyFileSync(`${t.file}-wal`, `${copy}-wal`);
    const size = statSync(`${copy}-wal`).size;
    if (damage === "cut") truncateSync(`${copy}-wal`, size - 4096 - 100);
    else appendFileSync(`${copy}-wal`, Buffer.alloc(3000, 0x5a));
    const opened = openStore({ url: copy, log: quietLog() });
    const keys = await opened.kv.list("n");
    assert.equal(await opened.check(), []);
    assert.ok(keys.length >= (damage === "cut" ? 45 : 50), `${damage}: ${keys.length} of 50 left`);
    assert.equal(
      keys,
      Array.from({ length: keys.length }, (_, n) => `k${String(n).padStart(3, "0")}`),
    );
    await opened.kv.set("n", "more", 1);
    await opened.close();
  }
});

test("every acknowledged batch was synced, as seen from outside the process", async () => {
  const syncs = async (callers: string, each: string) => {
    const trace = join(t.dir, `trace-${callers}`);
    const file = join(t.dir, `synced-${callers}.db`);
    const writer = startWriter(
      file,
      ["s", callers, each],
      ["strace", "-f", "-e", "trace=fsync,fdatasync", "-o", trace],
    );
    await writer.ended;
    assert.is(writer.said("added").length, Number(callers) * Number(each));
    return readFileSync(trace, "utf8").match(/ (fsync|fdatasync)\(/g)?.length ?? 0;
  };
  const single = await syncs("1", "40");
  assert.ok(single >= 40, `40 batches, ${single} syncs`);
  const grouped = await syncs("40", "5");
  assert.ok(grouped >= 5, `at least 5 batches, ${grouped} syncs`);
  assert.ok(grouped < 200, `200 writes should share their syncs, and took ${grouped}`);
  console.log(`  40 single writes: ${single} syncs; 200 writes of 40 callers: ${grouped} syncs`);
});

test("on a full disk, writes are refused and nothing is lost, and they succeed once there is room again", async () => {
  // the limit on file size is the smallest full disk there is: writes beyond it fail with EFBIG
  const writer = startWriter(
    t.file,
    ["f", "4", "0"],
    ["bash", "-c", 'ulimit -S -f 600; trap "" XFSZ; exec "$@"', "limited"],
  );
  await until("the limit", () => writer.said("refused").length > 10);
  const before = writer.said("added").length;
  execFileSync("prlimit", ["--pid", String(writer.child.pid), "--fsize=unlimited:unlimited"]);
  await until("writes after the limit", () => writer.said("added").length > before + 20);
  writer.child.kill("SIGKILL");
  await writer.ended;
  await expectAll(t.store, writer.said("added"));
  assert.equal(await t.store.check(), []);
});

test.run();
