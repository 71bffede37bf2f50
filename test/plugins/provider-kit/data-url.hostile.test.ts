/** A data URL is anybody's text. */
import { test } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import { parseDataUrl } from "../../../plugins/provider-kit/request/data-url.ts";
import { assertLinear, repeated } from "../../support/growth.ts";

test("the time for a data URL grows with its length", () => {
  const tokens = [
    " ",
    "\t\n",
    "=",
    "= ",
    "A",
    "A ",
    "%20",
    "%",
    ";",
    ";base64",
    ",",
    "A=",
    "é",
    "\u2003",
  ];
  for (const token of tokens)
    for (const before of ["data:;base64,", "data:;base64,AAAA", "data:", "data:text/plain,"])
      for (const after of ["", "!"])
        assertLinear(
          `${before}${token}…${after}`,
          12_000,
          repeated(token, before, after),
          parseDataUrl,
        );
});

test("white space in base64 does not count, anything else does", () => {
  assert.is(parseDataUrl("data:image/png;base64, Q U\nJD \t")!.data.toString(), "ABC");
  assert.is(parseDataUrl("data:image/png;base64,QUI=")!.data.toString(), "AB");
  for (const bad of [
    "data:;base64,QU!D",
    "data:;base64,Q=UJD",
    "data:;base64,QUJD===",
    "data:;base64",
  ])
    assert.is(parseDataUrl(bad), undefined, bad);
});

test.run();
