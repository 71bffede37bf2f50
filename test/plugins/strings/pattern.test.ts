import * as assert from "uvu/assert";
import { fitsPattern } from "../../../plugins/strings/index.ts";
import { test } from "../../support/suite.ts";

test("patterns", () => {
  for (const [pattern, name] of [
    ["*", "x"],
    ["claude-*", "claude-4"],
    ["*-mini", "gpt-mini"],
    ["a*b*c", "a1b2c"],
    ["exact", "exact"],
    ["**", ""],
    ["o/*", "o/a/b"],
  ])
    assert.ok(fitsPattern(pattern!, name!), `${pattern} ${name}`);
  for (const [pattern, name] of [
    ["claude-*", "claude"],
    ["a*a", "a"],
    ["a*b*c", "acb"],
    ["exact", "exactly"],
    ["a.c", "abc"],
    ["GPT-*", "gpt-4"],
  ])
    assert.not.ok(fitsPattern(pattern!, name!), `${pattern} ${name}`);
});

test.run();
