/** In a file of its own: where a gateway is, the ticker may run already, by real time. */
import type { ServerResponse } from "node:http";
import { mock } from "node:test";
import * as assert from "uvu/assert";
import { keepAlive } from "../../../../../plugins/models/serving/writing/keep-alive.ts";
import { suite } from "../../../../support/suite.ts";

const test = suite("keep-alive");

test("a comment is sent after each 15 s of silence, and none while data flows", () => {
  mock.timers.enable({ apis: ["setInterval"] });
  try {
    const written: string[] = [];
    const alive = keepAlive({
      write: (text: string) => written.push(text) > 0,
      writableNeedDrain: false,
      writableEnded: false,
    } as unknown as ServerResponse);
    for (let second = 0; second < 40; second++) {
      alive.touch();
      mock.timers.tick(1000);
    }
    assert.is(written.length, 0);
    mock.timers.tick(15_500);
    assert.equal(written, [": keep-alive\n\n"]);
    mock.timers.tick(15_000);
    assert.is(written.length, 2);
    alive.stop();
    mock.timers.tick(60_000);
    assert.is(written.length, 2);
  } finally {
    mock.timers.reset();
  }
});

test.run();
