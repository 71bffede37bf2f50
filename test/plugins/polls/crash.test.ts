/** Killed 20 times while a list grows: each of its items becomes exactly one event. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { test } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import { openStore } from "../../../plugins/store/open.ts";
import { program } from "../../support/runner/bundle.ts";
import { until } from "../../support/until.ts";
import { quietLog } from "../../support/quiet-log.ts";
import { makePolls } from "./fake-polls.ts";
import { temporaryDir } from "../../support/temporary.ts";

const KILLS = 20;
/** The first check finds this many items, which are no news. */
const KNOWN = 5;

test("over 20 kills, no item is lost and none arrives twice", async () => {
  let size = KNOWN - 2;
  const rows = () => JSON.stringify(Array.from({ length: size }, (_, id) => ({ id })));
  const source = createServer((_req, res) => {
    size += 2;
    res.end(rows());
  });
  await new Promise<void>((resolve) => source.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(source.address() as AddressInfo).port}/`;
  const dir = temporaryDir("portico-polls-");
  const file = join(dir, "polls.db");
  let child: ChildProcess | undefined;
  const words = [...program(join(import.meta.dirname, "crash-worker.program.ts")), file, url];
  const spawned = () =>
    spawn(process.execPath, words, { stdio: ["ignore", "inherit", "inherit", "ipc"] });
  try {
    for (let kill = 0; kill < KILLS; kill++) {
      child = spawned();
      const exit = once(child, "exit");
      await once(child, "message");
      // Somewhere in the middle of its checks, which follow each other without a pause.
      const target = size + 4 + (kill % 5) * 2;
      await until("some checks", () => size >= target);
      await new Promise((resolve) => setTimeout(resolve, kill % 7));
      child.kill("SIGKILL");
      await exit;
      child = undefined;
    }
    // One last look in peace: whatever was cut off is found now.
    const numbers = await lastLook(file, dir);
    assert.is(new Set(numbers).size, numbers.length, "none twice");
    assert.equal(
      [...numbers].sort((a, b) => a - b),
      Array.from({ length: size - KNOWN }, (_, i) => KNOWN + i),
      "none lost",
    );
    assert.ok(numbers.length > KILLS * 2);
  } finally {
    child?.kill("SIGKILL");
    source.closeAllConnections();
    await new Promise((resolve) => source.close(resolve));
  }
});

/** The ids of all events, after one more check. */
async function lastLook(file: string, dir: string): Promise<number[]> {
  const store = openStore({ url: `file:${file}`, log: quietLog() });
  const polls = await makePolls(store, dir);
  await polls.entries.freeLeases(await polls.entries.schedules.list());
  await polls.runner.runNow(() => polls.entries.schedules.find("grows"));
  const items = await store.items.list({ kind: "wake", limit: 1_000 });
  await store.close();
  return items.map(({ body }) => Number((body as { text: string }).text));
}

test.run();
