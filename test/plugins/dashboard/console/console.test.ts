/** Every page of the console at one size and in one theme; `npm run console` has both sizes and both themes. */
import * as assert from "uvu/assert";
import { suite } from "../../../support/suite.ts";
import { openBrowser } from "../support.ts";
import { checkConsole, type Look, looks } from "./check.ts";

const test = suite("console");

test("every page is there, can be changed, and has no serious accessibility finding", async () => {
  const chromium = await openBrowser();
  try {
    assert.equal(await checkConsole(chromium, looks[0] as Look), []);
  } finally {
    await chromium.close();
  }
});

test.run();
