import { join } from "node:path";
import * as assert from "uvu/assert";
import { beganAt, leaveTrace, readRunning } from "../../../kernel/home/running.ts";
import { startUnreaped } from "../../support/machine/unreaped.ts";
import { quietLog } from "../../support/quiet-log.ts";
import { test } from "../../support/suite.ts";
import { temporaryDir } from "../../support/temporary.ts";

test("a gateway that ends takes its own trace away, not that of the one that has followed it", () => {
  const state = join(temporaryDir(), "state");
  const before = { pid: process.pid, port: 1, url: "http://127.0.0.1:1" };
  const after = { ...before, port: 2, url: "http://127.0.0.1:2" };
  const undoBefore = leaveTrace(state, before, quietLog());
  const undoAfter = leaveTrace(state, after, quietLog());
  undoBefore();
  assert.equal(readRunning(state), after);
  undoAfter();
  assert.is(readRunning(state), undefined);
});

test("a number that another process has by now is no gateway's: after a restart of the machine, or of a container", () => {
  const state = join(temporaryDir(), "state");
  const ours = {
    pid: process.pid,
    began: beganAt(process.pid),
    port: 1,
    url: "http://127.0.0.1:1",
  };
  const undo = leaveTrace(state, ours, quietLog());
  assert.equal(readRunning(state), ours);
  undo();
  for (const pid of [process.pid, process.ppid, 1]) {
    leaveTrace(state, { ...ours, pid, began: "7" }, quietLog());
    assert.is(readRunning(state), undefined, String(pid));
  }
});

test("one that was killed, and whose parent has not asked about it, does not run", async () => {
  const state = join(temporaryDir(), "state");
  const unreaped = await startUnreaped();
  try {
    const { pid } = unreaped;
    const running = { pid, began: beganAt(pid), port: 1, url: "http://127.0.0.1:1" };
    leaveTrace(state, running, quietLog());
    assert.equal(readRunning(state), running);
    await unreaped.kill();
    assert.is(readRunning(state), undefined);
  } finally {
    unreaped.release();
  }
});

test("where the system does not say when it began, its number is believed", () => {
  const state = join(temporaryDir(), "state");
  const ours = { pid: process.pid, port: 1, url: "http://127.0.0.1:1" };
  leaveTrace(state, ours, quietLog());
  assert.equal(readRunning(state), ours);
});

test.run();
