/** Plugins that hang: none of them keeps the others, or the host, from going on. */
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { suite } from "../../../../support/suite.ts";
import { temporaryDir } from "../../../../support/temporary.ts";
import * as assert from "uvu/assert";
import { Bus } from "../../../../../kernel/host/bus.ts";
import { Loader } from "../../../../../kernel/loader/load.ts";
import { cacheName } from "../../../../../kernel/package-loader.ts";
import { createLog } from "../../../../../kernel/log/log.ts";
import type { PluginParts } from "../../../../../kernel/host/extensions/plugins/context.ts";
import { PluginHost } from "../../../../../kernel/host/extensions/plugins/host.ts";
import { createContributions, createServices } from "../../../../../kernel/host/registry.ts";

const test = suite("hanging plugins");
const home = temporaryDir("portico-limits-");

const undone: string[] = [];
Object.assign(globalThis, { undone });

/** A plugin that records its undos, and hangs at the chosen step. */
const plugin = (name: string, { cleanUp = "", onConfig = "" }) => `export default {
  name: "${name}",
  config: { section: { [Symbol.for("TypeBox.Kind")]: "Any" } },
  setup(ctx) {
    ctx.defer(() => void undone.push("${name} first"));
    ctx.defer(() => { undone.push("${name} last"); ${cleanUp} });
    ctx.onConfig(() => { ${onConfig} });
  },
};`;
const hang = "return new Promise(() => {});";

async function hostOf(plugins: Record<string, string>) {
  const dir = mkdtempSync(join(home, "root-"));
  for (const [path, text] of Object.entries(plugins)) {
    mkdirSync(join(dir, path), { recursive: true });
    writeFileSync(join(dir, path, "plugin.ts"), text);
  }
  undone.length = 0;
  const lines: Record<string, unknown>[] = [];
  const disabled = new Set<string>();
  const { log } = createLog({ write: (line) => lines.push(JSON.parse(line)) });
  const host = new PluginHost({
    roots: () => ["bundled", "home"].map((name, rank) => ({ name, dir: join(dir, name), rank })),
    loader: new Loader({
      host: async () => ({}),
      cacheFile: (entry) => join(home, "cache", cacheName(entry)),
    }),
    parts: {
      log,
      bus: new Bus(log),
      services: createServices(),
      contributions: createContributions(),
      config: { define: () => () => {}, section: () => ({}), check() {} },
    } as unknown as PluginParts,
    enabled: (name) => !disabled.has(name),
    limits: { undoMs: 20, configMs: 20 },
  });
  await host.prepare();
  await host.start();
  return { host, lines, disabled };
}

test("a clean-up that never ends is named and abandoned", async () => {
  const { host, lines, disabled } = await hostOf({
    "home/a": plugin("a", { cleanUp: hang }),
    "home/b": plugin("b", {}),
  });
  disabled.add("a");
  await host.reconfigure([]);
  assert.is(host.info("a").state, "disabled");
  assert.equal(undone, ["a last", "a first"]);
  assert.ok(
    lines.some(
      ({ msg, plugin }) =>
        plugin === "a" && /clean-up" could not be undone within 20 ms/.test(String(msg)),
    ),
  );
  await host.stop();
});

test("at a stop, the package's own plugins clean up even if a user's plugins hang", async () => {
  const { host } = await hostOf({
    "bundled/own": plugin("own", {}),
    ...Object.fromEntries(
      ["a", "b", "c", "d"].map((name) => [`home/${name}`, plugin(name, { cleanUp: hang })]),
    ),
  });
  await host.stop();
  assert.equal(
    undone.filter((name) => name.startsWith("own")),
    ["own last", "own first"],
  );
});

test("a plugin that never accepts a changed configuration refuses it", async () => {
  const { host } = await hostOf({
    "home/a": plugin("a", { onConfig: hang }),
    "home/b": plugin("b", {}),
  });
  const refusal = await host.reconfigure(["section"]).catch((error: Error) => error.message);
  assert.match(String(refusal), "plugin a: its onConfig did not finish in 20 ms");
  await host.rescan();
  assert.is(host.info("a").state, "active");
  await host.stop();
});

test.run();
