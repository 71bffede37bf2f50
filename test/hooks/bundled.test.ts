import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { suite } from "../support/suite.ts";
import * as assert from "uvu/assert";
import type { HookEntry } from "../../kernel/host/extensions/hooks/settings.ts";
import { createHookChat } from "../../plugins/chat/hook-chat.ts";
import { type HookHome, makeHookHome } from "../kernel/host/extensions/hooks/hook-home.ts";
import { untilRight, withinOneDay } from "../support/until.ts";

const own = join(import.meta.dirname, "../../hooks");

interface Context {
  start(entries?: Record<string, HookEntry>): Promise<HookHome>;
  home?: HookHome;
}

const test = suite<Context>("bundled hooks");
test.before.each((context) => {
  context.start = async (entries = {}) => {
    const home = await makeHookHome({ settings: { entries }, idle: true });
    context.home = home;
    cpSync(own, join(home.dir, "package/hooks"), { recursive: true });
    const commandContext = {
      sessionKey: "main",
      command: "new",
      args: "",
      workspace: home.paths.workspace,
      source: "cli",
    };
    for (const name of ["command:new", "command:reset", "command:stop"]) {
      home.bus.declare(name as never, {
        mode: "notify",
        description: "",
        sample: commandContext as never,
      });
    }
    home.bus.declare("agent:bootstrap" as never, {
      mode: "change",
      description: "",
      changes: ["bootstrapFiles", "systemPrompt"] as never,
      sample: {} as never,
    });
    await home.host.start();
    return home;
  };
});
test.after.each((context) => context.home?.stop());

async function command(home: HookHome, name: string, more: object): Promise<void> {
  const context = {
    sessionKey: "s1",
    command: name.slice(8),
    args: "",
    workspace: home.paths.workspace,
    source: "cli",
    ...more,
  };
  await home.bus.emit(name as never, context as never, { sessionKey: "s1" });
  await home.bus.drain();
}

test("each bundled hook loads, has a description, and names its requirements", async ({
  start,
}) => {
  const home = await start();
  assert.equal(
    home.host.list().map((hook) => [hook.name, hook.state]),
    [
      ["boot-md", "active"],
      ["bootstrap-extra-files", "active"],
      ["command-logger", "disabled"],
      ["session-memory", "disabled"],
    ],
  );
  for (const { name, description, events } of home.host.list()) {
    assert.ok(description && events.every((event) => event.known), name);
    assert.ok((await home.host.check(name)).ok, name);
  }
});

test("command-logger writes one JSON line for each command, and moves a large file away", async ({
  start,
}) => {
  const home = await start({ "command-logger": { enabled: true, maxBytes: 150 } });
  await command(home, "command:new", { args: "about cats" });
  await command(home, "command:stop", { source: "chat" });
  const file = join(home.paths.state, "logs/commands.log");
  const lines = readFileSync(file, "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  assert.equal(
    lines.map(({ time, ...rest }) => [new Date(time).getTime() > 0, rest]),
    [
      [true, { command: "new", args: "about cats", session: "s1", source: "cli" }],
      [true, { command: "stop", args: "", session: "s1", source: "chat" }],
    ],
  );
  await command(home, "command:reset", {});
  assert.ok(existsSync(`${file}.1`));
  assert.is(readFileSync(file, "utf8").trim().split("\n").length, 1);
});

test("command-logger loses no line of commands that come while a large file is moved", async ({
  start,
}) => {
  const home = await start({ "command-logger": { enabled: true, maxBytes: 10_000 } });
  const file = join(home.paths.state, "logs/commands.log");
  const old = `${"x".repeat(10_000)}\n`;
  mkdirSync(join(home.paths.state, "logs"), { recursive: true });
  writeFileSync(file, old);
  const names = ["command:new", "command:reset", "command:stop"];
  await Promise.all(names.map((name) => command(home, name, {})));
  const written = `${readFileSync(`${file}.1`, "utf8")}${readFileSync(file, "utf8")}`;
  assert.ok(written.startsWith(old), "what was moved is what was large");
  for (const name of names) assert.ok(written.includes(`"command":"${name.slice(8)}"`), name);
});

test("boot-md asks the agent once, and only where there is a BOOT.md", async ({ start }) => {
  const home = await start();
  const requests: Record<string, unknown>[] = [];
  const chat = {
    complete: async (request: Record<string, unknown>) => {
      requests.push(request);
      return { choices: [{ message: { content: "done" } }] };
    },
    models: async () => [],
  };
  home.members.set("chat", {
    name: "chat",
    create: (call) => createHookChat(chat as never, call) as never,
  });
  const startup = () =>
    home.bus.emit("gateway:startup", { version: "1", port: 1 }).then(() => home.bus.drain());
  await startup();
  mkdirSync(home.paths.workspace);
  writeFileSync(join(home.paths.workspace, "BOOT.md"), "  \n");
  await startup();
  assert.equal(requests, []);
  writeFileSync(join(home.paths.workspace, "BOOT.md"), "Say hello.\n");
  await startup();
  assert.is(requests.length, 1);
  assert.is(requests[0]?.["model"], "agent");
  assert.match(JSON.stringify(requests[0]?.["messages"]), /Say hello\./);
});

test("session-memory stores each conversation under a name of its own", async ({ start }) => {
  const home = await start({ "session-memory": { enabled: true, messages: 3 } });
  const messages = [
    { role: "user", content: "too old" },
    { role: "user", content: "Plan the Übung: trip/../../etc" },
    { role: "tool", content: "secret tool output" },
    { role: "assistant", content: "Gladly." },
    { role: "user", content: "Thanks" },
  ];
  const day = await withinOneDay();
  await command(home, "command:new", { previousSession: { messages } });
  await command(home, "command:reset", { previousSession: { messages } });
  await command(home, "command:new", {});
  const dir = join(home.paths.workspace, "memory");
  const names = readdirSync(dir).sort();
  assert.is(names.length, 2);
  assert.match(names[0] ?? "", new RegExp(`^${day}-plan-the-`));
  const text = readFileSync(join(dir, names[0] ?? ""), "utf8");
  assert.match(
    text,
    /\*\*user\*\*: Plan the[\s\S]*\*\*assistant\*\*: Gladly\.[\s\S]*\*\*user\*\*: Thanks/,
  );
  assert.not.match(text, /secret tool output|too old/);
});

test("bootstrap-extra-files adds what its patterns match, and nothing from outside", async ({
  start,
}) => {
  const home = await start({
    "bootstrap-extra-files": { paths: ["docs/*.md", "notes/**/*.txt"], maxBytes: 5 },
  });
  for (const path of [
    "docs/a.md",
    "docs/sub/b.md",
    "docs/c.txt",
    "notes/x.txt",
    "notes/deep/er/y.txt",
    "node_modules/z/docs/q.md",
  ]) {
    home.write(`workspace/${path}`, `text of ${path}`);
  }
  home.write("secret.md", "outside");
  symlinkSync(join(home.dir, "secret.md"), join(home.paths.workspace, "docs/link.md"));
  // Neither can be read, and neither excludes the others.
  symlinkSync("nowhere.md", join(home.paths.workspace, "docs/0-dangling.md"));
  symlinkSync("sub", join(home.paths.workspace, "docs/1-directory.md"));
  const bootstrapFile = { name: "AGENTS.md", path: "AGENTS.md", content: "hi", missing: false };
  const emit = () =>
    home.bus.emit(
      "agent:bootstrap" as never,
      {
        bootstrapFiles: [bootstrapFile],
        systemPrompt: "p",
        workspace: home.paths.workspace,
      } as never,
    ) as Promise<{
      context: { bootstrapFiles: { name: string; content: string }[] };
    }>;
  const { context } = await emit();
  assert.equal(
    context.bootstrapFiles.map(({ name, content }) => [name, content]),
    [
      ["AGENTS.md", "hi"],
      ["docs/a.md", "text "],
      ["notes/deep/er/y.txt", "text "],
      ["notes/x.txt", "text "],
    ],
  );
  assert.is(home.host.info("bootstrap-extra-files").failures, 0);
  home.settings.entries["bootstrap-extra-files"] = {};
  assert.is((await emit()).context.bootstrapFiles.length, 1);
});

test("a user's hook of the same name replaces a bundled one", async ({ start }) => {
  const home = await start();
  await home.host.watching();
  home.write("hooks/boot-md/handler.ts", "export default () => {};");
  home.write("hooks/boot-md/HOOK.md", "---\nevents: [gateway:startup]\n---\n");
  const record = await untilRight(
    () => home.host.info("boot-md"),
    (hook) => hook.root === "managed" && hook.state === "active",
  );
  assert.is(record.shadows?.root, "bundled");
});

test.run();
