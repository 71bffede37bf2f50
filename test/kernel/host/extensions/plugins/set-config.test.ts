/** A plugin writes the sections that it declares into the configuration file, and no others. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "../../../../support/suite.ts";
import * as assert from "uvu/assert";
import { startGateway } from "../../../../support/gateway.ts";

const plugin = `import { definePlugin, Type } from "portico";
export default definePlugin({
  name: "notes",
  config: {
    "notes.by": Type.Record(Type.String(), Type.Integer(), { default: {} }),
  },
  setup(ctx, config) {
    let now = config["notes.by"];
    ctx.onConfig((next) => { now = next["notes.by"]; });
    ctx.route("POST", "/notes", { access: "gateway" }, async (call) => {
      const { path, value } = await call.json();
      await ctx.setConfig(path, value);
      return { now };
    });
  },
});`;

test("a plugin writes and removes its own values, and is refused foreign or invalid ones", async () => {
  const gateway = await startGateway({ files: { "plugins/notes/plugin.ts": plugin } });
  const send = async (path: unknown[], value?: unknown) => {
    const response = await gateway.request("POST", "/notes", { path, value });
    return { status: response.status, body: (await response.json()) as any };
  };
  const file = () => readFileSync(join(gateway.home, "portico.json"), "utf8");
  try {
    assert.equal(
      (await send(["notes", "by", "a.b"], 7)).body,
      { now: { "a.b": 7 } },
      "it is in force at once",
    );
    assert.match(file(), /"a\.b"/);
    assert.equal((await send(["notes", "by", "a.b"])).body, { now: {} });
    assert.not.match(file(), /a\.b/);
    const before = file();
    for (const path of [["gateway", "auth", "token"], ["notes"], ["notesby"]])
      assert.is((await send(path, "x")).status, 403, path.join("."));
    assert.ok((await send(["notes", "by", "a"], "seven")).status >= 400);
    assert.is(file(), before);
  } finally {
    await gateway.stop();
  }
});

test.run();
