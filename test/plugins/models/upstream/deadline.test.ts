/** In a file of its own: where a gateway is, the ticker may run already, by real time. */
import { mock } from "node:test";
import * as assert from "uvu/assert";
import { startDeadline } from "../../../../plugins/models/upstream/deadline.ts";
import { suite } from "../../../support/suite.ts";

const test = suite("deadlines");

test("long deadlines share a ticker and are never early", () => {
  mock.timers.enable({ apis: ["setInterval", "setTimeout"] });
  try {
    let late = 0;
    const deadline = startDeadline(10_000, { onDeadline: () => late++ });
    for (let i = 0; i < 5; i++) {
      mock.timers.tick(9_500);
      assert.is(late, 0);
      deadline.touch();
    }
    mock.timers.tick(10_000);
    assert.is(late, 0);
    mock.timers.tick(500);
    assert.is(late, 1);
    const stopped = startDeadline(10_000, { onDeadline: () => late++ });
    stopped.stop();
    mock.timers.tick(60_000);
    assert.is(late, 1);
    // a slow reader stops the time, and it goes on when he reads again
    for (const ms of [10_000, 1_000]) {
      const held = startDeadline(ms, { onDeadline: () => late++ });
      held.stop();
      held.set(ms);
      mock.timers.tick(ms + 500);
      held.stop();
    }
    assert.is(late, 3);
  } finally {
    mock.timers.reset();
  }
});

test.run();
