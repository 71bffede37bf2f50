import { execFileSync } from "node:child_process";
import { existsSync, linkSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { suite } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import { temporaryDir } from "../../support/temporary.ts";
import { pageText } from "../../../plugins/agent-tools/web/page-text.ts";
import { assertLinear, repeated } from "../../support/growth.ts";
import { type ScriptedGateway, scriptedGateway } from "../agent/scripted.ts";
import { useTool } from "./support.ts";

const test = suite("hostile use of tools");
const outside = temporaryDir("portico-outside-");
let g: ScriptedGateway;

test.before(async () => {
  g = await scriptedGateway({
    config: { hooks: { extraDirs: ["workspace/more-hooks"] } },
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
      const said = await useTool(g, "files", args);
      assert.match(said, /^(Error: |\(nothing found\)$)/, `${action}: ${said}`);
      assert.not.match(said, /secret-|root:|token/);
    }
    assert.is(readFileSync(join(outside, "secret.txt"), "utf8"), "secret-outside");
  });

test("hooks and plugins are not made by other names of them", async () => {
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

test("what is barred shows in no list and no search", async () => {
  assert.not.match(await useTool(g, "files", { action: "list", depth: 5 }), /notes\.txt|index\.js/);
  assert.is(await useTool(g, "files", { action: "search", text: "secret" }), "(nothing found)");
});

test("a pipe, or a file that is no text, holds nothing up", async () => {
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

test("a note's name leads nowhere else", async () => {
  for (const note of ["../x", "a/b", ".hidden", ""])
    assert.match(
      await useTool(g, "memory", { action: "append", note, text: "x" }),
      /^Error: /,
      note,
    );
});

test("a client's, sender's or poll's session sees its own kind alone, and sends nowhere", async () => {
  for (const session of ["key:anna:x", "webhook:ci:1", "main"])
    await g.json("POST", "/agent", { message: `word of ${session}`, wait: true, session });
  for (const session of ["key:ann:1", "webhook:cix", "poll:turn_1"]) {
    const use = (args: object) => useTool(g, "sessions", args, { session });
    assert.not.match(await use({ action: "list", limit: 200 }), /anna|webhook:ci:|main/);
    for (const other of ["main", "key:anna:x", "webhook:ci:1"])
      assert.match(await use({ action: "history", session: other }), "no session");
    assert.match(await use({ action: "send", session: "main", message: "x" }), /^Error: /);
    assert.match(
      await use({ action: "send", session: `${session}:more`, message: "x" }),
      "starts no turns elsewhere",
    );
  }
  // however many of another's are newer
  const last = await useTool(g, "sessions", { action: "list", limit: 1 }, { session: "key:ann:1" });
  assert.match(last, '"key:ann:1"');
  await g.json("POST", "/agent", { message: "newer", wait: true, session: "key:ann2:1" });
  assert.match(
    await useTool(g, "sessions", { action: "list", limit: 1 }, { session: "key:ann" }),
    '"key:ann:1"',
  );
});

test("a client's session has files and notes of its own, and none of the owner's", async () => {
  const use = (session: string, name: string, args: object) => useTool(g, name, args, { session });
  for (const session of ["key:ann:main", "key:ann:chat:x", "key:b%3Ac:main"]) {
    assert.match(await use(session, "files", { action: "read", path: "fine.txt" }), /^Error: /);
    assert.not.match(await use(session, "files", { action: "list" }), "fine.txt");
    await use(session, "files", {
      action: "write",
      path: "AGENTS.md",
      content: `word of ${session}`,
    });
    assert.match(
      await use(session, "files", { action: "read", path: "AGENTS.md" }),
      `word of ${session}`,
    );
    await use(session, "memory", { action: "append", text: `note of ${session}` });
    assert.match(
      await use(session, "memory", { action: "search", query: session }),
      `note of ${session}`,
    );
    assert.not.match(
      await use(`${session}2`, "memory", { action: "search", query: session }),
      "note of",
    );
  }
  assert.not.match(await use("main", "memory", { action: "search", query: "note" }), "key:");
  for (const name of ["AGENTS.md", "MEMORY.md"])
    assert.not.ok(existsSync(join(g.home, "workspace", name)), name);
});

test("private addresses, metadata and our own ports are not fetched", async () => {
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

test("pages take time in line with their size", () => {
  for (const token of MARKUP)
    assertLinear(token, 8_000, repeated(token), (html) => pageText(html, "http://example.com/"));
});
test("a workspace above the home opens nothing of the gateway's", async () => {
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
        const said = await useTool(
          above,
          "files",
          { action, path: full, content: "x" },
          { agent: "wide" },
        );
        assert.match(said, /may not (read or )?write/, `${action} ${path}: ${said}`);
      }
    }
  } finally {
    await above.stop();
  }
});

test.run();
