/** Hooks as existing packs have them (`metadata.openclaw`) run as they are. */
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import * as assert from "uvu/assert";
import { startGateway } from "../../../../support/gateway.ts";
import { test } from "../../../../support/suite.ts";
import { untilRight } from "../../../../support/until.ts";

/** As they stand in packs: inline JSON with trailing commas, a kind of events, requirements and keys that are not ours. */
const commandHook = {
  "HOOK.md": `---
name: note-commands
description: "Notes every command"
homepage: https://example.com/hooks
metadata:
  {
    "openclaw":
      {
        "emoji": "📝",
        "events": ["command"],
        "requires": { "config": ["workspace.dir"], "bins": ["sh"] },
        "install": [{ "id": "bundled", "kind": "bundled", "label": "Bundled" }],
      },
  }
---

# Note commands
`,
  "handler.ts": `import fs from "node:fs/promises";
import path from "node:path";
import type { HookHandler } from "../../src/hooks/hooks.js";

const noteCommands: HookHandler = async (event) => {
  if (event.type !== "command") {
    return;
  }
  const workspaceDir = event.context?.workspaceDir;
  await fs.appendFile(
    path.join(workspaceDir, "commands.log"),
    JSON.stringify({ timestamp: event.timestamp.toISOString(), action: event.action, sessionKey: event.sessionKey }) + "\\n",
  );
  event.messages.push("📝 noted " + event.action);
};

export default noteCommands;
`,
};

const bootstrapHook = {
  "HOOK.md": `---
name: soul
description: "Adds a file to the bootstrap files"
metadata: '{ "clawdbot": { "events": ["agent:bootstrap"], "always": true } }'
---
`,
  "handler.js": `export default async function soul(event) {
  if (event.type !== "agent" || event.action !== "bootstrap") return;
  const { context } = event;
  if (!Array.isArray(context.bootstrapFiles)) return;
  context.bootstrapFiles = context.bootstrapFiles.filter((file) => file.name !== "TOOLS.md");
  context.bootstrapFiles.push({ name: "SOUL.md", path: context.workspaceDir + "/SOUL.md", content: "You are kind.", missing: false });
}
`,
};

test("a pack's hooks of a kind of events, and of the bootstrap files, run unchanged", async () => {
  const files = (name: string, hook: Record<string, string>) =>
    Object.entries(hook).map(([file, text]) => [`hooks/${name}/${file}`, text]);
  const gateway = await startGateway({
    files: Object.fromEntries([
      ...files("note-commands", commandHook),
      ...files("soul", bootstrapHook),
    ]),
  });
  try {
    const note = await gateway.json("GET", "/kernel/hooks/note-commands");
    assert.equal([note.state, note.emoji, note.warnings], ["active", "📝", []]);
    assert.equal(note.events, [{ name: "command:*", known: true }]);
    assert.is((await gateway.json("GET", "/kernel/hooks/soul")).state, "active");
    assert.ok((await gateway.json("POST", "/kernel/hooks/note-commands/check", {})).ok);

    const { workspace } = await gateway.json("GET", "/kernel/status");
    mkdirSync(workspace, { recursive: true });
    const turn = await gateway.json("POST", "/agent", { message: "/new", wait: true });
    assert.match(JSON.stringify(turn), /noted new/);
    const [line] = readFileSync(join(workspace, "commands.log"), "utf8").trim().split("\n");
    assert.equal(
      [JSON.parse(line ?? "").action, JSON.parse(line ?? "").sessionKey],
      ["new", "main"],
    );

    const run = await gateway.json("POST", "/kernel/hooks/soul/run", {});
    assert.is(run.effects.changed.bootstrapFiles.at(-1).content, "You are kind.");
    assert.equal(run.effects.ignored, []);
    await gateway.json("POST", "/agent", { message: "hi", wait: true });
    const { runs, failures } = await untilRight(
      () => gateway.json("GET", "/kernel/hooks/soul"),
      (hook) => hook.runs > 0,
    );
    assert.equal([runs, failures], [1, 0]);
  } finally {
    await gateway.stop();
  }
});

test.run();
