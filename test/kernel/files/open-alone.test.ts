import { rmSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as assert from "uvu/assert";
import { openAlone } from "../../../kernel/files/open-alone.ts";
import { test } from "../../support/suite.ts";
import { temporaryDir } from "../../support/temporary.ts";

test("processes that wait for a dead process's lock acquire it one after the other", async () => {
  const file = join(temporaryDir(), "lock");
  let holders = 0;
  let most = 0;
  const take = async () => {
    const handle = await openAlone(file);
    most = Math.max(most, ++holders);
    await handle.close();
    holders--;
    rmSync(file);
  };
  for (let round = 0; round < 5; round++) {
    writeFileSync(file, "");
    utimesSync(file, 0, 0);
    await Promise.all(Array.from({ length: 8 }, take));
  }
  assert.is(most, 1);
});

test.run();
