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

test("it takes time in line with its size, closed or not", () => {
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

test("what comes after it does not count", () => {
  const make = repeated("\n", "---\nevents: [message:received]\n---\n");
  assertLinear("blank lines", 50_000, make, parseHookMd);
});

test.run();
