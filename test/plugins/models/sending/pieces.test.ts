/** A text in pieces that a handler changed as a whole. */
import * as assert from "uvu/assert";
import { suite } from "../../../support/suite.ts";
import { changedPieces } from "../../../../plugins/models/sending/pieces.ts";

const test = suite("changed pieces");

test("a change affects only the pieces that it touches", () => {
  const pieces = ["one ", "two ", "three ", "four"];
  const cases: [string, string[]][] = [
    ["one two three four", pieces],
    ["one 2 three four", ["one ", "2 ", "three ", "four"]],
    ["one two three four!", ["one ", "two ", "three ", "four!"]],
    ["> one two three four", ["> one ", "two ", "three ", "four"]],
    ["one two four", ["one ", "two ", "", "four"]],
    ["one x four", ["one ", "x ", "", "four"]],
    ["", ["", "", "", ""]],
  ];
  for (const [changed, expected] of cases) {
    const out = changedPieces(pieces, changed);
    assert.is(out.join(""), changed);
    assert.equal(out, expected, changed);
  }
});

test("repeated words, empty pieces and single pieces are preserved", () => {
  const cases: [string[], string][] = [
    [["aa", "aa"], "aaa"],
    [["aa", "aa"], "aaaaa"],
    [["", "a", ""], "b"],
    [["", ""], "b"],
    [["abc"], ""],
    [["ab", "ab", "ab"], "abab"],
  ];
  for (const [pieces, changed] of cases)
    assert.is(changedPieces(pieces, changed).join(""), changed, JSON.stringify([pieces, changed]));
});

test.run();
