/** Whatever comes while a gateway starts meets its hooks. */
import { mkdirSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as assert from "uvu/assert";
import { makeHome, startGateway } from "../../support/gateway.ts";
import { test } from "../../support/suite.ts";

const early = `import { definePlugin } from "portico";

export default definePlugin({
  name: "early",
  async setup(ctx) {
    const headers = { authorization: "Bearer " + globalThis.earlyToken, "content-type": "application/json" };
    const body = JSON.stringify({ model: "echo", messages: [{ role: "user", content: "hi" }] });
    const ask = () => fetch(ctx.url() + "/v1/chat/completions", { method: "POST", headers, body });
    globalThis.earlyAnswers = Array.from({ length: 8 }, async () => (await ask()).status);
    globalThis.earlyHealth = fetch(ctx.url() + "/health").then(({ status }) => status);
    await new Promise((resolve) => setTimeout(resolve, 100));
  },
});
`;

test("the hooks judge the first request that receives a response", async () => {
  const g = globalThis as {
    earlyToken?: string;
    earlyAnswers?: Promise<number>[];
    earlyHealth?: Promise<number>;
  };
  g.earlyToken = "an-early-token-of-the-test";
  const gateway = await startGateway({
    config: { gateway: { auth: { token: g.earlyToken } } },
    files: {
      "plugins/early/plugin.ts": early,
      "hooks/guard/HOOK.md": "---\nevents: [message:received]\n---\n",
      "hooks/guard/handler.ts": 'export default () => ({ block: "not today" });',
    },
  });
  try {
    assert.equal(await Promise.all(g.earlyAnswers ?? []), Array(8).fill(403));
    assert.is(await g.earlyHealth, 200);
  } finally {
    await gateway.stop();
  }
});

test("no other user can read what a gateway creates below its home, whatever the umask", async () => {
  const home = makeHome();
  const hook = join(home, "hooks/guard");
  mkdirSync(hook, { recursive: true, mode: 0o700 });
  writeFileSync(join(home, "portico.json"), "{ gateway: { port: 0 } }", { mode: 0o600 });
  writeFileSync(join(hook, "HOOK.md"), "---\nevents: [message:received]\n---\n", { mode: 0o600 });
  writeFileSync(join(hook, "handler.ts"), "export default () => {};", { mode: 0o600 });
  const before = process.umask(0);
  try {
    const gateway = await startGateway({ home });
    try {
      await gateway.json("POST", "/agent", { message: "hello", wait: true });
      await gateway.json("POST", "/keys", { name: "ann" });
      const paths = readdirSync(home, { recursive: true, encoding: "utf8" });
      assert.ok(
        paths.some((path) => path.endsWith(".cjs")),
        "a bundle is kept",
      );
      const open = paths.filter((path) => statSync(join(home, path)).mode & 0o077);
      assert.equal(open, []);
    } finally {
      await gateway.stop();
    }
  } finally {
    process.umask(before);
  }
});

test.run();
