import { didYouMean } from "portico";
import { test } from "../../support/suite.ts";
import * as assert from "uvu/assert";

const events = [
  "message:received",
  "message:sent",
  "command:new",
  "command:reset",
  "agent:bootstrap",
];

test("a misspelling leads to the intended word", () => {
  assert.is(didYouMean("message:recieved", events), "message:received");
  assert.is(didYouMean("mesage:sent", events), "message:sent");
  assert.is(didYouMean("Agent:Bootstrap", events), "agent:bootstrap");
  assert.is(didYouMean("prot", ["post", "port"]), "port");
});

test("the beginning of a word leads to the whole word", () => {
  assert.is(didYouMean("agent", events), "agent:bootstrap");
});

test("an unrelated word has no nearest word", () => {
  assert.is(didYouMean("zebra", events), undefined);
  assert.is(didYouMean("", events), undefined);
  assert.is(didYouMean("x", []), undefined);
  assert.is(didYouMean("ab", ["xy"]), undefined);
});

test.run();
