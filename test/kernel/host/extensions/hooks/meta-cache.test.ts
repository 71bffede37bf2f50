import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "../../../../support/suite.ts";
import * as assert from "uvu/assert";
import { createMetaReader } from "../../../../../kernel/host/extensions/hooks/meta-cache.ts";
import { temporaryDir } from "../../../../support/temporary.ts";

test("parsed front matter is cached across restarts, but not of torn files, other texts or refusals", async () => {
  const state = temporaryDir("portico-meta-");
  const dir = join(state, "cache");
  const text = "---\nevents: [a:b]\npriority: 7\n---\n";
  const priority = async (content = text) =>
    (await createMetaReader({ package: "/package", state })("/hooks/a/HOOK.md", content)).meta
      .priority;
  assert.is(await priority(), 7);
  const [name = ""] = readdirSync(dir);
  const file = join(dir, name);
  const saved = readFileSync(file, "utf8");
  writeFileSync(file, saved.replace('"priority":7', '"priority":8'));
  assert.is(await priority(), 8, "the second reader did not take what was kept");
  for (const torn of ["{ torn", saved.slice(0, -20), ""]) {
    writeFileSync(file, torn);
    assert.is(await priority(), 7);
  }
  assert.is(await priority(text.replace("7", "9")), 9);
  assert.is(
    (await createMetaReader({ package: "/package", state })("/hooks/b/HOOK.md", text)).meta
      .priority,
    7,
  );
  for (let round = 0; round < 2; round++) {
    const refused = await createMetaReader({ package: "/package", state })(
      "/hooks/a/HOOK.md",
      "---js\n{}\n---\n",
    ).catch((error: Error) => error);
    assert.match((refused as Error).message, /not supported/);
  }
});

test("the front matter of a bundled hook is cached with the package's bundles, wherever the package is", async () => {
  const text = "---\nevents: [a:b]\n---\n";
  const names = [];
  for (const root of [temporaryDir("portico-meta-"), temporaryDir("portico-meta-")]) {
    const state = join(root, "state");
    await createMetaReader({ package: root, state })(join(root, "hooks/a/HOOK.md"), text);
    names.push(readdirSync(join(root, ".build/cache")).join());
    assert.not(existsSync(state));
  }
  assert.is(names[0], names[1]);
});

test.run();
