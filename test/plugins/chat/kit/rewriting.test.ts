/** Bytes of which some are replaced. */
import * as assert from "uvu/assert";
import { Rewriting } from "../../../../plugins/chat/kit/stream/rewriting.ts";
import { suite } from "../../../support/suite.ts";

const test = suite("rewriting");

test("what is replaced, left out and put in between stands where it was", () => {
  const out = new Rewriting(Buffer.from("one two three"));
  out.replace(0, 0, Buffer.from(">"));
  out.replace(4, 4, Buffer.alloc(0));
  out.replace(4, 7, Buffer.from("2"));
  out.replace(7, 7, Buffer.from("!"));
  out.replace(7, 13, Buffer.alloc(0));
  assert.is(out.result().toString(), ">one 2!");
});

test("bytes of which nothing is replaced are themselves", () => {
  const bytes = Buffer.from("one");
  const out = new Rewriting(bytes);
  out.replace(3, 3, Buffer.alloc(0));
  assert.is(out.result(), bytes);
});

test.run();
