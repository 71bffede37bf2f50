import { test } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import { isPorticoError, PorticoError, statusOf } from "../../../kernel/errors.ts";

test("a code has its status from the table, unless the thrower names one", () => {
  assert.is(new PorticoError("model_not_found", "x").status, 404);
  assert.is(new PorticoError("trace_running", "x").status, 409);
  assert.is(new PorticoError("upstream_timeout", "x").status, 504);
  assert.is(new PorticoError("forbidden", "x", { status: 451 }).status, 451);
  for (const unknown of ["nobody_knows", "toString", "__proto__", "constructor", ""])
    assert.is(statusOf(unknown), 500);
});

test("an error is recognised by its mark, not by its class: plugins may bring a second copy", async () => {
  const second = (await import(
    "../../../kernel/errors.ts?copy" as string
  )) as typeof import("../../../kernel/errors.ts");
  assert.is.not(second.PorticoError, PorticoError);
  assert.ok(isPorticoError(new second.PorticoError("conflict", "x")));
  assert.ok(isPorticoError(new PorticoError("conflict", "x")));
  for (const other of [
    new Error("x"),
    { code: "conflict", status: 409 },
    "conflict",
    null,
    undefined,
  ]) {
    assert.not.ok(isPorticoError(other));
  }
});

test("an error keeps its name, message, stack and cause for the log", () => {
  const cause = new Error("below");
  const error = new PorticoError("upstream_error", "The upstream is broken.", { cause });
  assert.is(error.cause, cause);
  assert.match(error.stack ?? "", "PorticoError: The upstream is broken.");
  assert.is(Object.hasOwn(new PorticoError("conflict", "x"), "cause"), false);
});

test.run();
