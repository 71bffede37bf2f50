/** The tables of the READMEs are what the code declares. */
import { readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import * as assert from "uvu/assert";
import { fields } from "../kernel/host/extensions/hooks/front-matter.ts";
import { packageDir } from "./support/gateway.ts";
import { porticoHere } from "./support/portico.ts";
import { readmes } from "./support/sources/readme-commands.ts";
import { test } from "./support/suite.ts";
import { temporaryDir } from "./support/temporary.ts";

test("the table of events on the page on hooks is what `portico hooks events --markdown` prints", async () => {
  const readme = readFileSync(join(packageDir, "kernel/hooks/README.md"), "utf8");
  const [, table = ""] = /<!-- events -->\n+([\s\S]*?)\n+<!-- \/events -->/.exec(readme) ?? [];
  const words = ["hooks", "events", "--markdown", "--url", "http://127.0.0.1:9"];
  const { stdout } = await porticoHere(temporaryDir("portico-readme-"), words);
  assert.is(
    table.trim(),
    stdout.trim(),
    "put the output of `portico hooks events --markdown` between the two marks",
  );
});

test("the page on hooks names every key of HOOK.md and every member of event and ctx", () => {
  const page = readFileSync(join(packageDir, "kernel/hooks/README.md"), "utf8");
  /** The words in the first column of the table that has this head. */
  const named = (head: string) => {
    const [, rows = ""] =
      new RegExp(`^\\| ${head} .*\\n\\| -.*\\n((?:\\|.*\\n)+)`, "m").exec(page) ?? [];
    const cells = rows.split("\n").map((row) => row.split("|")[1] ?? "");
    return cells
      .flatMap((cell) => Array.from(cell.matchAll(/`(\w+)`/g), ([, word]) => word))
      .sort();
  };
  const members = (file: string, type: string) => {
    const source = readFileSync(join(packageDir, file), "utf8");
    const [, body = ""] =
      new RegExp(`interface ${type}\\b[^{]*\\{\\n([\\s\\S]*?)\\n *\\}\\n`).exec(source) ?? [];
    const indent = /^ */.exec(body)?.[0] ?? "";
    const member = new RegExp(`^${indent}(?:readonly )?(\\w+)[:(<]`, "gm");
    return Array.from(body.matchAll(member), ([, name]) => name);
  };
  const added = [
    members("plugins/chat/index.ts", "HookContext"),
    members("plugins/store/index.ts", "HookContext"),
  ];
  assert.equal(named("key"), Object.keys(fields).sort());
  assert.equal(named("`event`"), members("kernel/contract/events.ts", "BusEvent").sort());
  assert.equal(
    named("`ctx`"),
    [...members("kernel/contract/hooks.ts", "HookContext"), ...added.flat()].sort(),
  );
});

test("the README leads to every guide, and so does the first page of the guides", () => {
  const guides = readmes().filter((path) => path.startsWith("plugins/docs/guides/"));
  const readme = readFileSync(join(packageDir, "README.md"), "utf8");
  const index = readFileSync(join(packageDir, "plugins/docs/guides/index.md"), "utf8");
  for (const guide of guides.filter((path) => !path.endsWith("/index.md"))) {
    assert.ok(readme.includes(`](${guide})`), `README.md: ${guide}`);
    assert.ok(index.includes(`](${basename(guide)})`), `the first page: ${guide}`);
  }
});

/** Blocks that begin so are not the gateway's configuration. */
const OTHERS = ["mcpServers", "from", "provider"];

test("the configurations that the READMEs show are valid", async () => {
  const dir = temporaryDir("portico-readme-");
  const wrong: string[] = [];
  let blocks = 0;
  for (const readme of readmes()) {
    const text = readFileSync(join(packageDir, readme), "utf8");
    for (const [, , block = ""] of text.matchAll(/^( *)```json5?\n([\s\S]*?)^ *```/gm)) {
      const [, opens, first = ""] =
        /^(?:\s*\/\/.*\n)*\s*(\{?)(?:\s*\/\/.*\n)*\s*"?(\w+)/.exec(block) ?? [];
      if (OTHERS.includes(first)) continue;
      blocks += 1;
      const whole = (opens ? block : `{ ${block} }`).replace(
        /sha256:\w+…/,
        `sha256:${"0".repeat(64)}`,
      );
      // The value is valid as a password and as a signing secret.
      const secret = `whsec_${Buffer.from(`${readme}, ${blocks}`.padEnd(32)).toString("base64")}`;
      const env = Object.fromEntries(
        [...block.matchAll(/\$\{(\w+)\}/g)].map(([, name]) => [name, secret]),
      );
      const file = join(dir, "portico.json");
      writeFileSync(file, whole);
      const { stdout } = await porticoHere(dir, ["config", "validate", file, "--json"], {
        ...process.env,
        ...env,
      });
      const { problems = [] } = JSON.parse(stdout) as { problems?: { key: string }[] };
      // The files of a deployment's certificate are not on this machine.
      const own = problems.filter(({ key }) => !key.startsWith("gateway.tls."));
      if (own.length > 0) wrong.push(`${readme}: ${JSON.stringify(own)}\n${block}`);
    }
  }
  assert.ok(blocks > 20, `${blocks} blocks were found`);
  assert.equal(wrong, []);
});

test.run();
