import { join } from "node:path";
import * as assert from "uvu/assert";
import { leaveTrace, readRunning } from "../../../kernel/home/running.ts";
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

test.run();
