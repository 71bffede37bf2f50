/** What the engine does without until there is work, so that idle processes are small. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import * as assert from "uvu/assert";
import { program } from "../../support/runner/bundle.ts";
import { suite } from "../../support/suite.ts";

const test = suite("engine");

test("a start is no work, however long it lasts; less than that is, once it is over", async () => {
  const words = program(`${import.meta.dirname}/engine.program.ts`);
  const { stdout } = await promisify(execFile)(process.execPath, words);
  assert.is(stdout, "held\nat work\n");
});

test.run();
