import { join } from "node:path";
import * as assert from "uvu/assert";
import { beganAt, leaveTrace, readRunning } from "../../../kernel/home/running.ts";
import { startUnreaped } from "../../support/machine/unreaped.ts";
import { quietLog } from "../../support/quiet-log.ts";
import { test } from "../../support/suite.ts";
import { temporaryDir } from "../../support/temporary.ts";

test("a gateway that ends removes its own trace, not that of its successor", () => {
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

test("a process id that another process has since taken is not a gateway's, as after a restart of the machine or container", () => {
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

test("a killed process that its parent has not reaped does not count as running", async () => {
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

test("if the system does not report a process's start, its process id alone counts", () => {
  const state = join(temporaryDir(), "state");
  const ours = { pid: process.pid, port: 1, url: "http://127.0.0.1:1" };
  leaveTrace(state, ours, quietLog());
  assert.equal(readRunning(state), ours);
});

test.run();
