import { once } from "node:events";
import { existsSync, readFileSync, statSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { test } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import { until } from "../../support/until.ts";
import { type ScriptedGateway, scriptedGateway } from "../agent/scripted.ts";
import { useTool } from "./support.ts";

/** Only the page itself declares Windows-1251. */
const CYRILLIC = Buffer.from("<meta charset=windows-1251><p>\xcc\xe8\xf0</p>", "latin1");
const PAGE = `<!doctype html><title>News &amp; more</title><style>p{}</style><h1>Today</h1><script>alert(1)</script>
<p>Rain, <a href="/later">sun later</a>.</p><ul><li>One<li>Two</ul><a href="javascript:x()">no</a>`;

let g: ScriptedGateway;
let site: string;
const server = createServer((req, res) => {
  if (req.url === "/page") res.setHeader("content-type", "text/html; charset=utf-8").end(PAGE);
  else if (req.url === "/cyrillic") res.setHeader("content-type", "text/html").end(CYRILLIC);
  else if (req.url === "/long") res.setHeader("content-type", "text/plain").end("x".repeat(50_000));
  else if (req.url === "/image")
    res.setHeader("content-type", "image/png").end(Buffer.from([0x89, 0x50, 0, 0]));
  else res.writeHead(404, { "content-type": "text/html" }).end("<title>Not here</title>");
});

test.before(async () => {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  site = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  g = await scriptedGateway({
    config: {
      agents: {
        defaults: { web: { allowPrivateNetwork: true } },
        list: { quiet: { tools: { deny: ["files", "web"] } } },
      },
    },
    files: {
      "workspace/notes/a.md": "one\ntwo\nthree\n",
      "workspace/big.txt": "needle\n".repeat(300),
    },
  });
});
test.after(async () => {
  await g.stop();
  server.close();
});

const files = (args: object, turn?: Record<string, unknown>) => useTool(g, "files", args, turn);
const inWorkspace = (path: string) => join(g.home, "workspace", path);

test("an edit measures the size of the file in bytes", async () => {
  const content = "a".repeat(3_000_000);
  assert.match(await files({ action: "write", path: "long.txt", content }), /^Wrote/);
  const edit = { action: "edit", path: "long.txt", old: "a".repeat(10), new: "é".repeat(10) };
  assert.match(await files({ ...edit, all: true }), /^Error: .*5000000/);
  assert.is(statSync(inWorkspace("long.txt")).size, 3_000_000);
});

test("files are read, written, edited, listed and searched", async () => {
  assert.is(await files({ action: "read", path: "notes/a.md" }), "one\ntwo\nthree\n");
  assert.is(await files({ action: "read", path: "notes/a.md", offset: 2, limit: 1 }), "two");
  assert.is(await files({ action: "read", path: inWorkspace("notes/a.md"), limit: 1 }), "one");
  assert.is(
    await files({ action: "write", path: "new/deep/b.txt", content: "Größe\nb\nb\n" }),
    "Wrote new/deep/b.txt.",
  );
  assert.is(readFileSync(inWorkspace("new/deep/b.txt"), "utf8"), "Größe\nb\nb\n");
  assert.is(statSync(inWorkspace("new/deep/b.txt")).mode & 0o777, 0o600);
  assert.match(
    await files({ action: "edit", path: "new/deep/b.txt", old: "b", new: "$&" }),
    "2 times",
  );
  assert.match(
    await files({ action: "edit", path: "new/deep/b.txt", old: "b", new: "$&", all: true }),
    "2 places",
  );
  assert.match(
    await files({ action: "edit", path: "new/deep/b.txt", old: "zzz", new: "" }),
    "does not contain",
  );
  assert.is(await files({ action: "read", path: "new/deep/b.txt" }), "Größe\n$&\n$&\n");
  assert.equal(
    (await files({ action: "list" })).split("\n").filter((name) => /^(new|notes|big)/.test(name)),
    ["big.txt", "new/", "notes/"],
  );
  assert.match(await files({ action: "list", depth: 3 }), "new/deep/b.txt");
  assert.is(await files({ action: "search", text: "TWO" }), "notes/a.md:2: two");
  assert.is(await files({ action: "search", text: "two", glob: "*.txt" }), "(no match)");
  assert.match(await files({ action: "search", text: "needle" }), "may be more");
});

test("errors name a missing argument or a missing file", async () => {
  assert.match(await files({ action: "read" }), /^Error: read needs path/);
  assert.match(await files({ action: "write", path: "x" }), /^Error: write needs content/);
  assert.match(
    await files({ action: "read", path: "nowhere.md" }),
    /^Error: There is no "nowhere\.md"/,
  );
  assert.match(await files({ action: "read", path: "notes" }), /is a directory/);
  assert.match(await files({ action: "list", path: "notes/a.md" }), /is a file/);
  assert.match(
    await files({ action: "read", path: "notes/a.md", offset: 9 }),
    "the file has only 4 lines",
  );
});

test("notes can be appended and searched, and the prompt of the next turn contains MEMORY.md", async () => {
  const memory = (args: object) => useTool(g, "memory", args);
  assert.is(await memory({ action: "append", text: "Ann likes tea." }), "Saved in MEMORY.md.");
  assert.is(await memory({ action: "append", text: "Bob likes coffee." }), "Saved in MEMORY.md.");
  assert.is(
    readFileSync(inWorkspace("MEMORY.md"), "utf8"),
    "Ann likes tea.\n\nBob likes coffee.\n",
  );
  await memory({
    action: "append",
    note: "travel",
    text: "The train to Bern leaves at 8.\n\nTea on board.",
  });
  assert.match(String(g.asked.at(-1)?.messages[0]?.content), "Ann likes tea.");
  assert.is(
    await memory({ action: "search", query: "BERN train" }),
    "memory/travel.md:\nThe train to Bern leaves at 8.",
  );
  const tea = await memory({ action: "search", query: "likes tea" });
  assert.match(tea, /^MEMORY\.md:\nAnn likes tea\./, "most of the words first");
  assert.match(tea, "memory/travel.md:\nTea on board.");
  assert.is(await memory({ action: "search", query: "nothing-like-it" }), "(no match)");
});

test("a page is fetched as text, with links", async () => {
  const output = await useTool(g, "web", { url: `${site}/page` });
  assert.match(output, new RegExp(`^200 ${site}/page\n`));
  assert.match(
    output,
    `News & more\n\n# Today\nRain, sun later (${site}/later).\n- One\n- Two\nno`,
  );
  assert.not.match(output, /alert|javascript/);
  assert.match(await useTool(g, "web", { url: `${site}/cyrillic` }), "Мир");
  assert.match(
    await useTool(g, "web", { url: `${site}/long` }),
    "continues at offset 40000 of 50000",
  );
  assert.match(await useTool(g, "web", { url: `${site}/long`, offset: 40_000 }), /x{10000}(?!x)/);
  assert.match(await useTool(g, "web", { url: `${site}/image` }), /^Error: .*image\/png/);
  assert.match(
    await useTool(g, "web", { url: `${site}/none` }),
    /^Error: The server responded with 404: Not here/,
  );
  assert.match(await useTool(g, "web", { url: "file:///etc/passwd" }), /^Error: .*http/);
});

test("sessions can be listed and read, and a session can send to another", async () => {
  await g.json("POST", "/agent", { message: "hello there", wait: true, session: "other" });
  assert.match(await useTool(g, "sessions", { action: "list" }), '"session":"other"');
  assert.match(
    await useTool(g, "sessions", { action: "history", session: "other" }),
    "hello there",
  );
  assert.match(
    await useTool(g, "sessions", { action: "history", session: "none" }),
    /^Error: There is no session "none"/,
  );
  const sent = JSON.parse(
    await useTool(g, "sessions", { action: "send", session: "other", message: "water the plants" }),
  );
  await until(
    "the turn",
    async () => (await g.json("GET", `/turns/${sent.turnId}`)).state === "done",
  );
  const { messages } = await g.json("GET", "/sessions/other");
  assert.match(JSON.stringify(messages), "water the plants");
  assert.match(
    await useTool(g, "sessions", { action: "send", session: "tools", message: "x" }),
    "the current session",
  );
});

test("each tool can be denied by its name", async () => {
  assert.match(await files({ action: "list" }, { agent: "quiet" }), "there is no tool named");
  assert.not.match(
    await useTool(g, "memory", { action: "search", query: "x" }, { agent: "quiet" }),
    "no tool",
  );
});

test("a sandboxed session has its own files, which are deleted with the session", async () => {
  const sandboxed = await scriptedGateway({
    config: {
      agents: { defaults: { sandbox: { mode: "all" }, web: { allowPrivateNetwork: true } } },
    },
    files: { "workspace/secret.md": "of the host", "workspace/MEMORY.md": "of the host" },
  });
  try {
    const use = (name: string, args: object, session = "a") =>
      useTool(sandboxed, name, args, { session });
    assert.is(await use("files", { action: "list" }), "(empty)");
    assert.match(await use("files", { action: "read", path: "secret.md" }), "There is no");
    await use("files", { action: "write", path: "hooks/x.txt", content: "mine" });
    await use("memory", { action: "append", text: "mine too" });
    for (const other of ["b", "a:b"])
      assert.is(await use("files", { action: "list" }, other), "(empty)");
    assert.is(await use("files", { action: "list", depth: 2 }), "MEMORY.md\nhooks/\nhooks/x.txt");
    assert.is(await use("memory", { action: "search", query: "host" }), "(no match)");
    assert.match(await use("web", { url: `${site}/page` }), /^Error: /);
    assert.equal(
      JSON.parse(await use("sessions", { action: "list" })).map(
        (session: { session: string }) => session.session,
      ),
      ["a"],
    );
    for (const session of ["b", "a:b"])
      assert.match(await use("sessions", { action: "history", session }), "no session");
    const dirs = join(sandboxed.home, "state/sandboxes");
    assert.ok(existsSync(dirs));
    await sandboxed.json("DELETE", "/sessions/a");
    await until(
      "the files to go",
      async () => (await use("files", { action: "list" })) === "(empty)",
    );
  } finally {
    await sandboxed.stop();
  }
});

test.run();
