/** URLs: parsed the same the first and the thousandth time. */
import * as assert from "uvu/assert";
import { parseUrl } from "portico/strings";
import { test } from "../../support/suite.ts";

test("letters beyond ASCII stay readable however often they are read", () => {
  // as a header brings them: one byte a letter
  const texts = ["http://b\u00fccher.example/", "http://169.\u00ad254.\u00ad169.\u00ad254/"].map(
    (text) => Buffer.from(text, "latin1").toString("latin1"),
  );
  for (let count = 0; count < 20_000; count++)
    for (const text of texts)
      if (!parseUrl(text)) throw new Error(`${text} was refused the ${count + 1}th time`);
  assert.is(parseUrl(texts[0]!)?.host, "xn--bcher-kva.example");
  assert.is(parseUrl(texts[1]!)?.host, "169.254.169.254");
});

test("a base resolves relative URLs, and an invalid URL is undefined", () => {
  assert.is(parseUrl("/a", "http://x.example/b")?.href, "http://x.example/a");
  for (const text of ["", "/a", "http://", "http://a b/"])
    assert.is(parseUrl(text), undefined, text);
});

test.run();
