/** The README's table of events is what the plugins declare. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import * as assert from "uvu/assert";
import { packageDir } from "./support/gateway.ts";
import { porticoHere } from "./support/portico.ts";
import { test } from "./support/suite.ts";
import { temporaryDir } from "./support/temporary.ts";

test("the README's table of events is what `portico hooks events --markdown` prints", async () => {
  const readme = readFileSync(join(packageDir, "README.md"), "utf8");
  const [, table = ""] = /<!-- events -->\n+([\s\S]*?)\n+<!-- \/events -->/.exec(readme) ?? [];
  const words = ["hooks", "events", "--markdown", "--url", "http://127.0.0.1:9"];
  const { stdout } = await porticoHere(temporaryDir("portico-readme-"), words);
  assert.is(table.trim(), stdout.trim(), "put the output of `portico hooks events --markdown` between the two marks");
});

test.run();
