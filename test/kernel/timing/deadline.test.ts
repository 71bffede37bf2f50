import { compile, timerMs } from "portico";
import * as assert from "uvu/assert";
import { LONGEST_TIMER_MS, withDeadline } from "../../../kernel/timing/deadline.ts";
import { test } from "../../support/suite.ts";

test("work that may take longer than any timer is waited for", async () => {
  for (const ms of [Number.POSITIVE_INFINITY, 2 ** 31, 1e308]) {
    const work = new Promise<string>((resolve) => setTimeout(resolve, 20, "done"));
    assert.is(await withDeadline(work, ms, () => new Error(`late after ${ms} ms`)), "done");
  }
});

test("a timer's duration is from 1 ms to the longest, unless its schema states another minimum", () => {
  const { parse } = compile(timerMs({}));
  for (const ms of [1, LONGEST_TIMER_MS]) assert.is(parse(ms), ms);
  for (const ms of [0, -1, 0.5, LONGEST_TIMER_MS + 1, Number.NaN, "30s"])
    assert.throws(() => parse(ms), /must be /);
  assert.is(compile(timerMs({ minimum: 0 })).parse(0), 0);
});

test.run();
