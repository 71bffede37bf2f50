import { test } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import { decodeText } from "../../../plugins/strings/decode.ts";

test("Windows-1252 has quotes, dashes and the euro, by whichever name and where nothing fits", () => {
  const bytes = Buffer.from([0x93, 0x80, 0x35, 0x94, 0x20, 0x96, 0x20, 0xfc, 0x92, 0x8c, 0x9f]);
  for (const charset of ["windows-1252", "ISO-8859-1", "latin1", "us-ascii", "utf-8"]) {
    assert.is(decodeText(bytes, `text/plain; charset=${charset}`), "“€5” – ü’ŒŸ", charset);
  }
  assert.is(decodeText(bytes), "“€5” – ü’ŒŸ");
  const all = Buffer.from(Array.from({ length: 256 }, (_, i) => i));
  assert.is(new Set(decodeText(all, "charset=windows-1252")).size, 256);
  assert.is(decodeText(Buffer.from("\u0085 “”"), "charset=utf-8"), "\u0085 “”");
});

test.run();
