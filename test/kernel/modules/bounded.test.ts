import { test } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import { Interrupted, runBounded } from "../../../kernel/modules/bounded.ts";

test("answers what the work answers, throws what it throws", () => {
  assert.is(
    runBounded(() => 42, 1000),
    42,
  );
  assert.throws(
    () =>
      runBounded(() => {
        throw new TypeError("mine");
      }, 1000),
    (error: Error) => error instanceof TypeError && error.message === "mine",
  );
});

test("ends a loop that nothing inside can end", () => {
  let caught = 0;
  assert.throws(
    () =>
      runBounded(() => {
        for (;;) {
          try {
            for (;;);
          } catch {
            caught++;
          }
        }
      }, 30),
    (error: Error) => error instanceof Interrupted && error.limitMs === 30,
  );
  assert.is(caught, 0);
  assert.is(
    runBounded(() => "next", 1000),
    "next",
  );
});

test("may be nested", () => {
  const outer = runBounded(() => {
    assert.throws(
      () =>
        runBounded(() => {
          for (;;);
        }, 20),
      (error: Error) => error instanceof Interrupted,
    );
    return runBounded(() => "inner", 1000);
  }, 1000);
  assert.is(outer, "inner");
});

test("promises pass through", async () => {
  assert.is(await runBounded(async () => "later", 1000), "later");
});

test.run();
