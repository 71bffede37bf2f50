import { test } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import { beginBounded, Interrupted, runBounded } from "../../../kernel/loader/bounded.ts";

test("returns the result of the work and throws its errors", () => {
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
    (error: Error) => error instanceof Interrupted && /for 30 ms/.test(error.message),
  );
  assert.is(caught, 0);
  assert.is(
    runBounded(() => "next", 1000),
    "next",
  );
});

test("ends a regular expression that backtracks for ever", () => {
  const wait = () => runBounded(() => /^(a+)+b$/.test("a".repeat(60)), 30);
  assert.throws(wait, (error: Error) => error instanceof Interrupted);
});

test("limits of any length: V8's timers take the short ones, a thread the long ones", () => {
  for (const limitMs of [0.2, 10_000, 10_001, 600_000]) {
    assert.is(
      runBounded(() => limitMs, limitMs + 1000),
      limitMs,
    );
    const fail = () =>
      runBounded(() => {
        throw new TypeError("mine");
      }, limitMs + 1000);
    assert.throws(fail, (error: Error) => error instanceof TypeError);
  }
});

test("bounded calls may be nested", () => {
  const outer = runBounded(() => {
    assert.throws(
      () =>
        runBounded(() => {
          for (;;);
        }, 20),
      (error: Error) => error instanceof Interrupted,
    );
    return runBounded(() => "inner", 10_000);
  }, 10_000);
  assert.is(outer, "inner");
});

test("promises pass through", async () => {
  assert.is(await runBounded(async () => "later", 1000), "later");
});

test("calls that begin together return their own results", async () => {
  const began: string[] = [];
  const begin = (name: string, limitMs: number, work = () => {}) =>
    beginBounded(() => {
      began.push(name);
      work();
    }, limitMs).then(
      () => "done",
      (error: Error) => error.name,
    );
  const results = Promise.all([
    begin("a", 300),
    begin("throws", 300, () => {
      throw new TypeError("mine");
    }),
    begin("hangs", 300, () => {
      for (;;);
    }),
    begin("b", 300, () => void begin("begun within", 300)),
    begin("longer", 10_000),
  ]);
  assert.equal(began, [], "not before those who ask have come back");
  assert.equal(await results, ["done", "TypeError", "Interrupted", "done", "done"]);
  assert.equal(await begin("later", 300), "done");
  assert.equal(began, ["a", "throws", "hangs", "b", "longer", "begun within", "later"]);
});

test.run();
