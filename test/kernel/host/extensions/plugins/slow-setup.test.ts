/** A plugin whose setup hangs holds up neither other plugins nor the next version of its own. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as assert from "uvu/assert";
import { type InProcessGateway, startGateway } from "../../../../support/gateway.ts";
import { suite } from "../../../../support/suite.ts";
import { until } from "../../../../support/until.ts";

const test = suite("plugins with a slow setup");
let g: InProcessGateway;

/** The functions that end hanging setups, by name. */
const release = new Map<string, () => void>();
Object.assign(globalThis, {
  held: (name: string) => new Promise<void>((resolve) => release.set(name, resolve)),
});

const plugin = (name: string, setup = "") => `export default {
  name: "${name}",
  setup(ctx) { ${setup} },
};`;
const waitingPlugin = (name: string) => plugin("a", `return held("${name}");`);

test.before(async () => {
  g = await startGateway({ files: { "plugins/a/plugin.ts": plugin("a") } });
});
test.after(() => g?.stop());

async function save(name: string, text: string): Promise<void> {
  const dir = join(g.home, "plugins", name);
  mkdirSync(dir, { recursive: true });
  writeFileSync(join(dir, "plugin.ts"), text);
  await g.json("POST", "/kernel/plugins/rescan");
}

async function generations(): Promise<string[]> {
  const { plugins } = await g.json("GET", "/kernel/plugins");
  return plugins
    .filter(({ name }: { name: string }) => name === "a" || name === "b")
    .map((plugin: { name: string; generation: number; state: string }) =>
      [plugin.name, plugin.generation, plugin.state].join(" "),
    )
    .sort();
}

async function expectSoon(expected: string[], why = ""): Promise<void> {
  await until(`${expected.join(", ")} ${why}`, async () => {
    const actual = await generations();
    return JSON.stringify(actual) === JSON.stringify(expected);
  });
}

test("while a setup hangs, others start and newer versions replace it, and a slow setup is still activated", async () => {
  await save("a", waitingPlugin("first"));
  await save("b", plugin("b"));
  await expectSoon(["a 1 active", "b 1 active"]);
  await save("a", plugin("a", "1;"));
  await expectSoon(["a 2 active", "b 1 active"]);
  release.get("first")?.();
  await g.json("POST", "/kernel/plugins/rescan");
  assert.equal(await generations(), ["a 2 active", "b 1 active"], "the first came too late");

  await save("a", waitingPlugin("second"));
  await save("a", "export default {");
  release.get("second")?.();
  await expectSoon(["a 2 stale", "b 1 active"], "since the newest is broken");

  await save("a", waitingPlugin("third"));
  await until("its setup", () => release.has("third"));
  release.get("third")?.();
  await expectSoon(["a 3 active", "b 1 active"]);

  await save("a", waitingPlugin("fourth"));
  await g.json("POST", "/kernel/plugins/a/disable");
  release.get("fourth")?.();
  await expectSoon(["a 3 disabled", "b 1 active"]);
});

test.run();
