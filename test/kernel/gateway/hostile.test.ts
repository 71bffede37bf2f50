/** Whatever comes while a gateway starts meets its hooks. */
import * as assert from "uvu/assert";
import { startGateway } from "../../support/gateway.ts";
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

test("the first request that is answered is judged by the hooks", async () => {
  const g = globalThis as { earlyToken?: string; earlyAnswers?: Promise<number>[]; earlyHealth?: Promise<number> };
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

test.run();
