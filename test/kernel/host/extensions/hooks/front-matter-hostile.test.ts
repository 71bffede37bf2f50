/** A HOOK.md is read before anybody has approved it. */
import { parseHookMd } from "../../../../../kernel/host/extensions/hooks/front-matter.ts";
import { assertLinear, repeated } from "../../../../support/growth.ts";
import { suite } from "../../../../support/suite.ts";

const test = suite("hostile front matter");
const TOKENS = [
  "\n",
  " ",
  "\t",
  "#\n",
  "a: b\n",
  "- ",
  "[",
  "{",
  "? ",
  "&a *a ",
  "'",
  '"',
  "---",
  "| ",
  "\r\n",
];

test("parsing takes time in proportion to the file's size, with or without an end of the front matter", () => {
  for (const before of ["---\n", "---\nname: "])
    for (const after of ["", "\n---\n"])
      for (const token of TOKENS)
        assertLinear(
          JSON.stringify(before + token + after),
          12_000,
          repeated(token, before, after),
          parseHookMd,
        );
});

test("text after the front matter does not count", () => {
  const make = repeated("\n", "---\nevents: [message:received]\n---\n");
  assertLinear("blank lines", 50_000, make, parseHookMd);
});

test.run();
