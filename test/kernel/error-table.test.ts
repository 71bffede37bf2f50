/** Tables of errors: code, status and message of each situation, and how a plugin's definition declares them. */
import * as assert from "uvu/assert";
import { declareErrors, isPorticoError, PorticoError, statusOf } from "../../kernel/errors.ts";
import { suite } from "../support/suite.ts";

const test = suite("error table");

const errors = PorticoError.table({
  jobMissing: { code: "test_job_missing", status: 404, message: "There is no job `{id}` in {id}." },
  busy: {
    code: "rate_limit_exceeded",
    type: "rate_limit_error",
    message: "The job is running. Try again in {seconds} s.",
  },
  off: { code: "service_unavailable", message: "The scheduler is off." },
});

test("a situation has its code, status, type and message with the values filled in", () => {
  const missing = errors.jobMissing({ id: "$& a{id}" }, { param: "id" });
  assert.ok(isPorticoError(missing));
  assert.equal(
    [missing.code, missing.status, missing.param, missing.message],
    ["test_job_missing", 404, "id", "There is no job `$& a{id}` in $& a{id}."],
  );
  const busy = errors.busy({ seconds: 3 });
  assert.equal([busy.status, busy.type], [429, "rate_limit_error"]);
});

test("a message without placeholders takes only options, and the kernel's codes keep their status", () => {
  const cause = new Error("below");
  const off = errors.off({ cause, headers: { "retry-after": "1" } });
  assert.equal([off.status, off.message, off.cause], [503, "The scheduler is off.", cause]);
  assert.equal(off.headers, { "retry-after": "1" });
});

test("a declared table makes the status of its codes known until it is withdrawn", () => {
  const withdraw = declareErrors(errors);
  assert.is(statusOf("test_job_missing"), 404);
  assert.is(statusOf("rate_limit_exceeded"), 429);
  withdraw();
  assert.is(statusOf("test_job_missing"), 500);
});

test("a table that is declared twice stays known until both declarations are withdrawn", () => {
  const [withdrawFirst, withdrawSecond] = [declareErrors(errors), declareErrors(errors)];
  withdrawFirst();
  assert.is(statusOf("test_job_missing"), 404);
  withdrawSecond();
  assert.is(statusOf("test_job_missing"), 500);
});

test("plain statuses of codes can be declared as well", () => {
  const withdraw = declareErrors({ test_gone: 410 });
  assert.is(new PorticoError("test_gone", "It is gone.").status, 410);
  withdraw();
});

test.run();
