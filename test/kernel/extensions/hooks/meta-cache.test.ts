import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "../../../support/suite.ts";
import * as assert from "uvu/assert";
import { createMetaReader } from "../../../../kernel/extensions/hooks/meta-cache.ts";
import { temporaryDir } from "../../../support/temporary.ts";

test("what was read once is known after a restart; a torn file and a refusal are not kept", async () => {
  const dir = temporaryDir("portico-meta-");
  const file = join(dir, "cache/descriptors.json");
  const text = "---\nevents: [a:b]\npriority: 7\n---\n";
  const read = await createMetaReader(file)(text);
  assert.is(read.meta.priority, 7);
  const saved = JSON.parse(readFileSync(file, "utf8"));
  saved.known[0][1].meta.priority = 8;
  writeFileSync(file, JSON.stringify(saved));
  assert.is((await createMetaReader(file)(text)).meta.priority, 8, "the second reader did not take what was kept");
  writeFileSync(file, "{ torn");
  assert.is((await createMetaReader(file)(text)).meta.priority, 7);
  for (let round = 0; round < 2; round++) {
    const refused = await createMetaReader(file)("---js\n{}\n---\n").catch((error: Error) => error);
    assert.match((refused as Error).message, /refused/);
  }
});

test.run();
