import { execFileSync } from "node:child_process";
import { existsSync, linkSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { suite } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import { temporaryDir } from "../../support/temporary.ts";
import { clientKey, webhookKey } from "../../support/principals.ts";
import { extractPageText } from "../../../plugins/agent-tools/web/page-text.ts";
import { assertLinear, repeated } from "../../support/growth.ts";
import { type ScriptedGateway, scriptedGateway } from "../agent/scripted.ts";
import { useTool, useToolAs } from "./support.ts";

const test = suite("hostile use of tools");
const outside = temporaryDir("portico-outside-");
let g: ScriptedGateway;

test.before(async () => {
  g = await scriptedGateway({
    config: {
      hooks: { extraDirs: ["workspace/more-hooks"] },
      gateway: {
        keys: {
          ...clientKey("ann"),
          ...clientKey("anna"),
          ...clientKey("ann2"),
          ...clientKey("b:c"),
        },
      },
      webhooks: { keys: { ...webhookKey("ci"), ...webhookKey("cix") } },
    },
    files: {
      "workspace/hooks/h/notes.txt": "secret-of-hooks",
      "workspace/plugins/p/notes.txt": "secret-of-plugins",
      "workspace/more-hooks/m/notes.txt": "secret-of-more",
      "workspace/node_modules/x/index.js": "secret-of-packages",
      "workspace/a/node_modules/x/index.js": "secret-of-packages",
      "workspace/fine.txt": "fine",
    },
  });
  writeFileSync(join(outside, "secret.txt"), "secret-outside");
  const workspace = join(g.home, "workspace");
  symlinkSync(outside, join(workspace, "link"));
  symlinkSync(join(outside, "secret.txt"), join(workspace, "link.txt"));
  symlinkSync("hooks", join(workspace, "innocent"));
  symlinkSync(join(outside, "new.txt"), join(workspace, "dangling.txt"));
  linkSync(join(outside, "secret.txt"), join(workspace, "hard.txt"));
  mkdirSync(join(workspace, "dir"));
});
test.after(() => g.stop());

const PATHS = [
  "../portico.json",
  "a/../../portico.json",
  "/etc/passwd",
  "link/secret.txt",
  "link.txt",
  "hard.txt",
  "hooks/h/notes.txt",
  "./a/../hooks/h/notes.txt",
  "Hooks/h/notes.txt",
  "innocent/h/notes.txt",
  "plugins/p/notes.txt",
  "more-hooks/m/notes.txt",
  "node_modules/x/index.js",
  "a/node_modules/x/index.js",
  "fine.txt\0.md",
  "fine.txt/x",
];

for (const path of PATHS)
  test(`no tool reads or writes ${JSON.stringify(path)}`, async () => {
    for (const action of ["read", "write", "edit", "list", "search"]) {
      const args = {
        action,
        path,
        content: "taken over",
        old: "s",
        new: "t",
        text: "secret",
        all: true,
      };
      const output = await useTool(g, "files", args);
      assert.match(output, /^(Error: |\(no match\)$)/, `${action}: ${output}`);
      assert.not.match(output, /secret-|root:|token/);
    }
    assert.is(readFileSync(join(outside, "secret.txt"), "utf8"), "secret-outside");
  });

test("aliases of the directories of hooks and plugins do not allow the agent to write there", async () => {
  for (const path of [
    "hooks/new/handler.ts",
    "HOOKS/new/handler.ts",
    "innocent/new.ts",
    "dir/node_modules/x.js",
    "dangling.txt",
    "link/new.txt",
  ])
    assert.match(
      await useTool(g, "files", { action: "write", path, content: "x" }),
      /^Error: /,
      path,
    );
});

test("forbidden files appear in no listing and no search result", async () => {
  assert.not.match(await useTool(g, "files", { action: "list", depth: 5 }), /notes\.txt|index\.js/);
  assert.is(await useTool(g, "files", { action: "search", text: "secret" }), "(no match)");
});

test("a pipe or a binary file does not block the tool", async () => {
  const workspace = join(g.home, "workspace");
  execFileSync("mkfifo", [join(workspace, "pipe")]);
  writeFileSync(join(workspace, "bytes"), Buffer.from([1, 0, 2]));
  assert.match(await useTool(g, "files", { action: "read", path: "pipe" }), /regular/);
  assert.match(await useTool(g, "files", { action: "read", path: "bytes" }), /not text/);
  assert.match(
    await useTool(g, "files", { action: "write", path: "dir", content: "x" }),
    /^Error: /,
  );
});

test("the name of a note cannot lead outside the memory directory", async () => {
  for (const note of ["../x", "a/b", ".hidden", ""])
    assert.match(
      await useTool(g, "memory", { action: "append", note, text: "x" }),
      /^Error: /,
      note,
    );
});

test("a turn of a client or sender sees only its own sessions and cannot send messages to others", async () => {
  await g.json("POST", "/agent", { message: "word of main", wait: true, session: "main" });
  await g.json("POST", "/agent", { message: "word of plain", wait: true, session: "plain" });
  for (const key of ["ann", "anna", "ann2"]) await useToolAs(g, { key, session: "1" }, "none", {});
  for (const webhook of ["ci", "cix"])
    await useToolAs(g, { webhook, session: `webhook:${webhook}:1` }, "none", {});
  const callers = [
    { key: "ann", session: "2" },
    { webhook: "cix", session: "webhook:cix:2" },
  ];
  const others = ["main", "plain", "key:anna:1", "key:ann2:1", "webhook:ci:1"];
  for (const caller of callers) {
    const use = (args: object) => useToolAs(g, caller, "sessions", args);
    assert.not.match(await use({ action: "list", limit: 200 }), /anna|ann2|webhook:ci:|main|plain/);
    for (const session of others) {
      assert.match(await use({ action: "history", session }), "no session");
      assert.match(await use({ action: "send", session, message: "x" }), /^Error: /);
    }
  }
  const own = await useToolAs(g, callers[0]!, "sessions", { action: "list" });
  assert.match(own, "key:ann:1");
  assert.match(
    await useToolAs(g, callers[0]!, "sessions", { action: "history", session: "key:ann:1" }),
    "go",
  );
  assert.match(
    await useToolAs(g, callers[0]!, "sessions", {
      action: "send",
      session: "key:ann:1",
      message: "x",
    }),
    "cannot start turns",
  );
});

test("a turn of a client or sender has its own files and notes and cannot access the owner's", async () => {
  const callers = [{ key: "ann" }, { key: "b:c" }, { webhook: "ci" }];
  for (const caller of callers) {
    const name = JSON.stringify(caller);
    const use = (tool: string, args: object) => useToolAs(g, caller, tool, args);
    assert.match(await use("files", { action: "read", path: "fine.txt" }), /^Error: /);
    assert.not.match(await use("files", { action: "list" }), "fine.txt");
    await use("files", { action: "write", path: "AGENTS.md", content: `word of ${name}` });
    assert.match(await use("files", { action: "read", path: "AGENTS.md" }), `word of ${name}`);
    await use("memory", { action: "append", text: `note of ${name}` });
    assert.match(await use("memory", { action: "search", query: "note" }), `note of ${name}`);
    for (const other of callers.filter((candidate) => candidate !== caller))
      assert.not.match(
        await useToolAs(g, other, "memory", { action: "search", query: "note" }),
        `note of ${name}`,
      );
  }
  assert.not.match(await useTool(g, "memory", { action: "search", query: "note" }), "note of");
  for (const name of ["AGENTS.md", "MEMORY.md"])
    assert.not.ok(existsSync(join(g.home, "workspace", name)), name);
});

test("the web tool fetches no private addresses, metadata services or ports of the gateway", async () => {
  for (const url of [
    g.url,
    "http://127.0.0.1:9/",
    "http://169.254.169.254/latest",
    "http://[::ffff:10.0.0.1]/",
    "gopher://x/",
  ])
    assert.match(await useTool(g, "web", { url }), /^Error: /, url);
});

const MARKUP = [
  "<a",
  "<a b=c ",
  "<div>",
  "</p>",
  "<!--",
  "<a href=x>y",
  " ",
  "&",
  "&#",
  "<li>",
  "<p><span>",
  "<title>",
  "<td>",
  "<script>",
  "\n",
];

test("the time to convert a page is proportional to its size", () => {
  for (const token of MARKUP)
    assertLinear(token, 8_000, repeated(token), (html) =>
      extractPageText(html, "http://example.com/"),
    );
});
test("a workspace that contains the home gives no access to the gateway's files", async () => {
  const above = await scriptedGateway({
    config: { agents: { list: { wide: { workspace: join(g.home, "..") } } } },
  });
  try {
    for (const path of [
      "portico.json",
      ".env",
      "state/store.db",
      "hooks/x/handler.ts",
      "transforms/x.ts",
    ]) {
      const full = join(above.home, path);
      for (const action of ["read", "write"]) {
        const output = await useTool(
          above,
          "files",
          { action, path: full, content: "x" },
          { agent: "wide" },
        );
        assert.match(output, /may not (read or )?write/, `${action} ${path}: ${output}`);
      }
    }
  } finally {
    await above.stop();
  }
});

test.run();
