/** `/kernel/status` reports each extension as its record does, in every state. */
import * as assert from "uvu/assert";
import { startGateway } from "../../support/gateway.ts";
import { test } from "../../support/suite.ts";

const plugin = (name: string, more = "setup() {}") =>
  `import { definePlugin } from "portico";\nexport default definePlugin({ name: "${name}", ${more} });\n`;
const hook = (name: string, more = "") =>
  `---\nname: ${name}\nevents: [gateway:startup]\n${more}---\n`;
const handler = "export default async () => {};\n";

test("the status shows plugins and hooks as in their records", async () => {
  const gateway = await startGateway({
    config: { plugins: { entries: { off: { enabled: false } } } },
    files: {
      "plugins/runs/plugin.ts": plugin("runs"),
      "plugins/off/plugin.ts": plugin("off"),
      "plugins/fails/plugin.ts": plugin("fails", 'setup() { throw new Error("no luck"); }'),
      "plugins/broken/plugin.ts": "export default {",
      "plugins/waits/plugin.ts": plugin("waits", 'needs: ["nobody"] as never, setup() {}'),
      "plugins/openapi/plugin.ts": plugin("openapi"),
      "plugins/again/plugin.ts": plugin("runs"),
      "hooks/runs/HOOK.md": hook("runs"),
      "hooks/runs/handler.ts": handler,
      "hooks/broken/HOOK.md": hook("broken"),
      "hooks/broken/handler.ts": "export default 1;\n",
      "hooks/lacks/HOOK.md": hook(
        "lacks",
        "metadata: { openclaw: { requires: { env: [NOBODY_SETS_THIS] } } }\n",
      ),
      "hooks/lacks/handler.ts": handler,
    },
  });
  try {
    const status = await gateway.json("GET", "/kernel/status");
    const standings = (records: { name: string; state: string; error?: string }[]) =>
      records.map(({ name, state, error }) =>
        error === undefined ? { name, state } : { name, state, error },
      );
    const { plugins } = await gateway.json("GET", "/kernel/plugins");
    const { hooks } = await gateway.json("GET", "/kernel/hooks");
    assert.equal(status.plugins, standings(plugins));
    assert.equal(status.hooks, standings(hooks));
    const states = new Set(plugins.map(({ state }: { state: string }) => state));
    assert.equal([...states].sort(), ["active", "disabled", "failed", "shadowed", "waiting"]);
    const { error } = status.plugins.find(({ state }: { state: string }) => state === "waiting");
    assert.is(error, "it needs nobody, which no active plugin provides");
  } finally {
    await gateway.stop();
  }
});

test("a hook for an event that nothing emits causes a notice", async () => {
  const waiting = (name: string, events: string) => `---\nname: ${name}\nevents: ${events}\n---\n`;
  const gateway = await startGateway({
    files: {
      "hooks/typo/HOOK.md": waiting("typo", "[message:recieved]"),
      "hooks/typo/handler.ts": handler,
      "hooks/off/HOOK.md": waiting("off", "[nobody:emits]\nenabled: false"),
      "hooks/off/handler.ts": handler,
      "hooks/kind/HOOK.md": waiting("kind", "['command:*']"),
      "hooks/kind/handler.ts": handler,
    },
  });
  try {
    const { notices } = await gateway.json("GET", "/kernel/status");
    const text =
      "typo is never called for message:recieved: no plugin emits it; did you mean message:received?";
    assert.equal(
      notices.filter(({ from }: { from: string }) => from === "hooks"),
      [{ from: "hooks", text }],
    );
  } finally {
    await gateway.stop();
  }
});

test("a channel whose provider is missing causes a notice", async () => {
  const gateway = await startGateway({
    config: { channels: { lost: { provider: "nobody" }, fine: { provider: "echo" } } },
  });
  try {
    const { notices } = await gateway.json("GET", "/kernel/status");
    const ofChannels = notices.filter(({ from }: { from: string }) => from === "channels");
    assert.equal(ofChannels, [{ from: "channels", text: 'lost: there is no provider "nobody"' }]);
  } finally {
    await gateway.stop();
  }
});

test.run();
