/** A hook that fails closed: a waiting caller receives an error at once, and queued turns are retried until the hook works. */
import * as assert from "uvu/assert";
import { startGateway } from "../../support/gateway.ts";
import { test } from "../../support/suite.ts";
import { untilRight } from "../../support/until.ts";

const token = "a-webhook-token-of-the-test";
const handler = (body: string) => `export default () => { ${body} };\n`;

test("a turn without a waiting caller survives an unavailable hook", async () => {
  const file = "hooks/guard/handler.ts";
  const gateway = await startGateway({
    config: {
      webhooks: { enabled: true, token },
      agents: { defaults: { retryDelayMs: 400, maxAttempts: 20 } },
    },
    files: {
      "hooks/guard/HOOK.md": "---\nevents: [message:received]\nfailClosed: true\n---\n",
      [file]: handler('throw new Error("boom");'),
    },
  });
  try {
    for (const body of [{ message: "hi", wait: true }, { message: "/new" }]) {
      const refused = await gateway.request("POST", "/agent", body);
      assert.equal(
        [refused.status, ((await refused.json()) as { error: { code: string } }).error.code],
        [503, "hook_unavailable"],
      );
    }
    const webhook = await fetch(`${gateway.url}/hooks/agent`, {
      method: "POST",
      headers: { "x-service-token": token, "content-type": "application/json" },
      body: JSON.stringify({ message: "hi", wait: true }),
    });
    assert.equal([webhook.status, /hook_unavailable/.test(await webhook.text())], [503, true]);
    const queued = await gateway.request("POST", "/agent", { message: "hi" });
    assert.is(queued.status, 200);
    const { turnId } = (await queued.json()) as { turnId: string };
    const turn = () => gateway.json("GET", `/turns/${turnId}`);
    await untilRight(turn, (status) => /hook_unavailable/.test(JSON.stringify(status)));
    gateway.write(file, handler(""));
    await gateway.json("POST", "/kernel/hooks/rescan");
    const done = await untilRight(turn, (status) => status.state === "done");
    assert.ok(done.result ?? done);
  } finally {
    await gateway.stop();
  }
});

test.run();
