/** The states of an extension's newest version, and what leads from one to the next. */
import * as assert from "uvu/assert";
import {
  type Attempt,
  type AttemptEvent,
  advance,
  NOT_TRIED,
  wasTried,
} from "../../../../kernel/host/extensions/attempt.ts";
import { suite } from "../../../support/suite.ts";

const test = suite("attempt");
const problem = { message: "it throws", file: "/h/handler.ts", line: 3 };
const failed: Attempt = { state: "failed", id: "v1", problem };
const retryable: Attempt = { state: "retryable", id: "v1", problem };
const starting: Attempt = { state: "starting", id: "v1", problem: undefined };

function after<E extends keyof AttemptEvent>(
  attempt: Attempt,
  event: E,
  details: AttemptEvent[E],
): Attempt {
  const slot = { attempt };
  (advance as (slot: object, event: string, details: unknown) => void)(slot, event, details);
  return slot.attempt;
}

test("a version that starts successfully runs and reports no problem", () => {
  const begun = after({ state: "due", problem }, "begin", { id: "v1" });
  assert.equal(begun, { state: "starting", id: "v1", problem });
  assert.equal(after(begun, "succeed", { id: "v1" }), { state: "running", id: "v1" });
});

test("a version that fails is not tried again until its content changes", () => {
  const end = after(starting, "fail", { id: "v1", problem, isPassing: false });
  assert.equal(end, failed);
  assert.ok(wasTried(end, "v1"));
  assert.not(wasTried(end, "v2"));
  assert.equal(after(end, "rescan", {}), failed);
});

test("a failure that can vanish is tried again at the next look", () => {
  const end = after(starting, "fail", { id: "v1", problem, isPassing: true });
  assert.equal(end, retryable);
  assert.equal(after(end, "rescan", {}), { state: "due", problem });
});

test("the failure of a superseded version changes nothing", () => {
  const newer: Attempt = { state: "starting", id: "v2" };
  for (const attempt of [newer, NOT_TRIED, { state: "running", id: "v2" }] as const)
    assert.is(after(attempt, "fail", { id: "v1", problem, isPassing: false }), attempt);
});

test("a repeated failure keeps the problem that was reported", () => {
  const begun = after(failed, "begin", { id: "v2" });
  const again = after(begun, "fail", { id: "v2", problem: { ...problem }, isPassing: false });
  assert.is(again.problem, problem);
});

test("a restart of the old version does not end the start of a newer one", () => {
  assert.equal(after(starting, "succeed", { id: "v0" }), { state: "starting", id: "v1" });
});

test("a version that yields to another is due again", () => {
  assert.equal(after(starting, "giveWay", { id: "v1" }), { state: "due", problem: undefined });
  assert.is(after(failed, "giveWay", { id: "v1" }), failed);
});

test("a reload is asked for until it begins, and being switched off is no error", () => {
  const forced = after(failed, "force", {});
  assert.equal(forced, { state: "forced", problem });
  assert.equal(after(forced, "retry", {}), forced);
  assert.equal(after(failed, "retry", {}), { state: "due", problem });
  assert.equal(after(forced, "disable", {}), { state: "due" });
});

test.run();
