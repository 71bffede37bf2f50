/** The hooks in `/kernel/status` when several workers run them. */
import * as assert from "uvu/assert";
import { mergeHooks, type WorkerStatus } from "../../../plugins/management/all-workers.ts";
import { test } from "../../support/suite.ts";

type Hook = WorkerStatus["hooks"][number];
const worker = (number: number, ...hooks: Hook[]) =>
  ({ worker: number, hooks }) as unknown as WorkerStatus;
const hook = (state: Hook["state"], error?: string): Hook => ({
  name: "greet",
  dir: "/hooks/greet",
  state,
  error,
});

test("a problem in one worker is shown with the number of the worker", () => {
  const resting = { ...hook("resting"), error: "worker 3: it failed 5 times in a row" };
  const all = [
    worker(1, hook("active")),
    worker(2, hook("active")),
    worker(3, hook("resting", resting.error.slice(10))),
  ];
  assert.equal(mergeHooks(all), [resting]);
});

test("a problem in the first worker is shown unchanged", () => {
  const failed = hook("failed", "it does not load");
  assert.equal(mergeHooks([worker(1, failed), worker(2, hook("resting", "it rests"))]), [failed]);
});

test("a hook of the same name in another directory is a different hook", () => {
  const elsewhere = { ...hook("failed", "it does not load"), dir: "/elsewhere/greet" };
  assert.equal(mergeHooks([worker(1, hook("active")), worker(2, elsewhere)]), [hook("active")]);
});

test.run();
