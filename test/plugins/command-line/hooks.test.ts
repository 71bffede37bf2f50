import { chmodSync, existsSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { suite } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import { type InProcessGateway, startGateway } from "../../support/gateway.ts";
import { endlessLoop } from "../../support/hook-files.ts";
import { type CommandResult, porticoHere } from "../../support/portico.ts";
import { untilRight } from "../../support/until.ts";
import { temporaryDir } from "../../support/temporary.ts";

const test = suite<{
  gateway: InProcessGateway;
  run: (...argv: string[]) => Promise<CommandResult>;
}>("portico hooks");
test.before(async (context) => {
  context.gateway = await startGateway();
  context.run = (...argv) => porticoHere(context.gateway.home, argv);
});
test.after((context) => context.gateway.stop());

const say = async (gateway: InProcessGateway, content: string): Promise<string> => {
  const response = await gateway.json("POST", "/v1/chat/completions", {
    model: "echo",
    messages: [{ role: "user", content }],
  });
  return response.choices[0].message.content;
};

const active = (gateway: InProcessGateway, name: string) =>
  untilRight(
    () =>
      gateway
        .json("GET", "/kernel/hooks")
        .then(({ hooks }) => hooks.find((hook: { name: string }) => hook.name === name)),
    (hook) => hook?.state === "active",
  );

test("a new hook is active at once, and edits, errors, repairs, shadowing and removal show in responses and in info", async ({
  gateway,
  run,
}) => {
  const created = await run("hooks", "new", "hello", "--event", "message:received");
  assert.is(created.code, 0, created.stderr);
  assert.match(created.stdout, /hooks\/hello\/handler\.ts \(active\)/);
  assert.is(await say(gateway, "hi"), "hi");
  assert.match(
    (await run("hooks", "logs", "hello")).stdout,
    /saw message:received .*"content":"hi"/,
  );

  const write = (text: string) => gateway.write("hooks/hello/handler.ts", text);
  write(
    "export default (event) => { event.context.content = event.context.content.toUpperCase(); };",
  );
  await untilRight(
    () => say(gateway, "hi"),
    (text) => text === "HI",
  );

  write("export default (event) => {\n  event.context.content = ;\n};");
  const broken = await untilRight(
    () => run("hooks", "info", "hello", "--json"),
    ({ stdout }) => JSON.parse(stdout).state === "stale",
  );
  assert.match(JSON.parse(broken.stdout).error, /^handler\.ts:2:/);
  assert.is(await say(gateway, "hi"), "HI");
  const check = await run("hooks", "check", "hello");
  assert.is(check.code, 1);
  assert.match(check.stderr, /hello: handler\.ts:2/);
  assert.is(check.stderr.trim().split("\n").length, 1);

  write('export default () => ({ reply: "mended" });');
  await untilRight(
    () => say(gateway, "hi"),
    (text) => text === "mended",
  );
  assert.is((await run("hooks", "check", "hello")).code, 0);

  const shadow = await run("hooks", "new", "hello", "--event", "message:received", "--workspace");
  assert.match(shadow.stdout, /workspace\/hooks\/hello/);
  await untilRight(
    () => say(gateway, "hi"),
    (text) => text === "hi",
  );
  assert.match((await run("hooks", "info", "hello")).stdout, /Replaces +.*\/hooks\/hello/);
  assert.match((await run("hooks", "list")).stdout, /hello +shadowed +managed .*replaced by/);

  rmSync(join(gateway.home, "workspace/hooks/hello"), { recursive: true });
  await untilRight(
    () => say(gateway, "hi"),
    (text) => text === "mended",
  );
  rmSync(join(gateway.home, "hooks/hello"), { recursive: true });
  await untilRight(
    () => say(gateway, "hi"),
    (text) => text === "hi",
  );
  const removed = await run("hooks", "info", "hello");
  assert.is(removed.code, 1);
  assert.match(removed.stderr, /There is no hook hello/);
});

test("a blocking hook responds with 403 blocked_by_hook, and a looping hook affects nobody", async ({
  gateway,
  run,
}) => {
  gateway.write(
    "hooks/guard/handler.ts",
    `export default (event) => {\n  if (event.context.content === "loop") ${endlessLoop}\n  return event.context.content === "bad" ? { block: "not here" } : undefined;\n};`,
  );
  gateway.write("hooks/guard/HOOK.md", "---\nevents: [message:received]\ntimeoutMs: 1000\n---\n");
  await active(gateway, "guard");
  const blocked = await gateway.request("POST", "/v1/chat/completions", {
    model: "echo",
    messages: [{ role: "user", content: "bad" }],
  });
  assert.is(blocked.status, 403);
  assert.is(((await blocked.json()) as { error: { code: string } }).error.code, "blocked_by_hook");
  assert.is(await say(gateway, "loop"), "loop");
  const info = JSON.parse((await run("hooks", "info", "guard", "--json")).stdout);
  assert.equal([info.failures, info.lastError.line], [1, 2]);
  assert.match((await run("hooks", "info", "guard")).stdout, /Last error .*loop/);
});

test("run shows effects, lines and outcome, and fails where the hook does", async ({
  gateway,
  run,
}) => {
  gateway.write(
    "hooks/try/handler.ts",
    'export default (event, ctx) => {\n  ctx.log.info("here");\n  if (event.context.content === "bad") throw new Error("boom");\n  event.context.content += "!";\n  event.messages.push("psst");\n  return { reply: "r" };\n};',
  );
  gateway.write("hooks/try/HOOK.md", "---\nevents: [message:received, message:sent]\n---\n");
  await active(gateway, "try");
  const ok = await run(
    "hooks",
    "run",
    "try",
    "--event",
    "message:received",
    "--context",
    '{"content":"Hi"}',
  );
  assert.is(ok.code, 0, ok.stderr);
  for (const part of [
    /message:received: ok in/,
    /changes content to "Hi!"/,
    /answers "r"/,
    /sends "psst"/,
    /\| .* here/,
  ])
    assert.match(ok.stdout, part);
  const json = JSON.parse(
    (
      await run(
        "hooks",
        "run",
        "try",
        "--event",
        "message:received",
        "--context",
        '{"content":"Hi"}',
        "--json",
      )
    ).stdout,
  );
  assert.equal(json.effects, {
    changed: { content: "Hi!" },
    messages: ["psst"],
    ignored: [],
    result: { reply: "r" },
  });
  const bad = await run(
    "hooks",
    "run",
    "try",
    "--event",
    "message:received",
    "--context",
    '{"content":"bad"}',
  );
  assert.is(bad.code, 1);
  assert.match(bad.stderr, /try failed on message:received: handler\.ts:3: boom/);
  assert.match((await run("hooks", "run", "try")).stderr, /message:received/);
  assert.match(
    (await run("hooks", "run", "try", "--event", "message:received", "--context", "[1]")).stderr,
    /must be a JSON object/,
  );
  rmSync(join(gateway.home, "hooks/try"), { recursive: true });
});

test("disable and enable are kept in the configuration", async ({ gateway, run }) => {
  assert.match((await run("hooks", "enable", "command-logger")).stdout, /command-logger: active/);
  assert.is(gateway.gateway.config.kernel.hooks.entries["command-logger"]?.enabled, true);
  assert.match(
    (await run("hooks", "disable", "command-logger")).stdout,
    /command-logger: disabled/,
  );
  assert.match(
    (await run("hooks", "info", "command-logger")).stdout,
    /Reason +it is disabled: enable it with/,
  );
  assert.is(gateway.gateway.config.kernel.hooks.entries["command-logger"]?.enabled, false);
  await run("config", "set", "hooks.enabled", "false");
  assert.match(
    (await run("hooks", "enable", "command-logger")).stdout,
    /disabled: hooks\.enabled is false/,
  );
  await run("config", "unset", "hooks.enabled");
  await run("hooks", "disable", "command-logger");
});

test("new does not report a hook as active while it waits for its approval", async ({
  gateway,
  run,
}) => {
  await run("config", "set", "hooks.trust", "approved");
  const created = await run("hooks", "new", "waits", "--event", "message:received", "--workspace");
  assert.match(
    created.stdout,
    /\(unapproved\)\.\nThe hook does not run: its content is not approved: .*portico hooks approve waits/,
  );
  rmSync(join(gateway.home, "workspace/hooks/waits"), { recursive: true });
  await run("config", "unset", "hooks.trust");
});

test("new reports invalid arguments", async ({ run }) => {
  for (const [argv, message] of [
    [["../x", "--event", "message:received"], /"..\/x" is not/],
    [["x"], /Pass the event.*message:received/],
    [["x", "--event", "message"], /"message" is not/],
    [["x", "--event", "message:recieved"], /message:recieved.*message:received/],
    [["x", "--event", "gateway:startup,agent:complete"], /Did you mean agent:completed\?/],
  ] as const) {
    const { code, stderr } = await run("hooks", "new", ...argv);
    assert.is(code, 1);
    assert.match(stderr, message);
  }
});

test("events shows every declared event, one of them, or a table", async ({ run }) => {
  const { events } = JSON.parse((await run("hooks", "events", "--json")).stdout);
  const received = events.find((event: { name: string }) => event.name === "message:received");
  assert.equal(received.changes, ["content"]);
  assert.equal(received.effects, ["reply", "block"]);
  assert.equal(received.fields, Object.keys(received.sample));
  const result = await run("hooks", "events", "agent:bootstrap");
  assert.match(
    result.stdout,
    /^agent:bootstrap \(change\)\n {2}A turn begins.*\n {2}Fields .*\n {2}May change {2}bootstrapFiles, /,
  );
  assert.match(
    (await run("hooks", "events", "agent:bootstrp")).stderr,
    /Did you mean agent:bootstrap\?/,
  );
});

test("rm removes a hook of the user and restores the one that it shadowed, and a bundled hook stays", async ({
  gateway,
  run,
}) => {
  await run("hooks", "new", "gone", "--event", "gateway:startup");
  await run("hooks", "new", "gone", "--event", "gateway:startup", "--workspace", "--js");
  assert.ok(existsSync(join(gateway.home, "workspace/hooks/gone/handler.js")));
  const top = await run("hooks", "rm", "gone");
  assert.match(
    top.stdout,
    /^Removed .*workspace\/hooks\/gone\. gone is now loaded from .*\/hooks\/gone \(\w+\)\.\n$/,
  );
  assert.match((await run("hooks", "rm", "gone")).stdout, /^Removed .*\/hooks\/gone\.\n$/);
  assert.not.ok(existsSync(join(gateway.home, "hooks/gone")));
  assert.match((await run("hooks", "rm", "gone")).stderr, /There is no hook gone/);
  assert.match(
    (await run("hooks", "rm", "boot-md")).stderr,
    /Disable the extension instead: portico hooks disable boot-md/,
  );
  assert.match((await run("hooks", "rm", "../hooks")).stderr, /There is no hook/);
  assert.match(
    (await run("plugins", "rm", "chat")).stderr,
    /Disable the extension instead: portico plugins disable chat/,
  );
});

test("a hook whose root is a link, or an unreachable gateway, is reported as that", async ({
  gateway,
  run,
}) => {
  const result = await run(
    "hooks",
    "new",
    "later",
    "--event",
    "gateway:startup",
    "--token",
    "wrong",
  );
  assert.match(result.stdout, /The gateway that runs from this home activates the hook at once/);
  await untilRight(
    () => run("hooks", "info", "later"),
    ({ stdout }) => /State +active/.test(stdout),
  );
  const link = join(temporaryDir("portico-link-"), "home");
  symlinkSync(gateway.home, link);
  const linked = await porticoHere(link, ["hooks", "new", "linked", "--event", "gateway:startup"]);
  assert.match(linked.stdout, /\(active\)\.\nThe hook runs now\./);
});

test("a hook can be created and checked without a gateway", async () => {
  const home = temporaryDir("portico-cli-hooks-");
  const run = (...argv: string[]) => porticoHere(home, [...argv, "--url", "http://127.0.0.1:9"]);
  const created = await run(
    "hooks",
    "new",
    "alone",
    "--event",
    "message:received",
    "--event",
    "command:new",
  );
  assert.is(created.code, 0, created.stderr);
  assert.match(created.stdout, /runs as soon as you start a gateway/);
  assert.ok(existsSync(join(home, "hooks/tsconfig.json")));
  assert.is((await run("hooks", "check")).code, 0);
  assert.is((await run("hooks", "check", "alone")).code, 0);
  assert.is((await run("hooks", "check", "./hooks/alone")).code, 0);
  const file = join(home, "hooks/alone/handler.ts");
  const broken: [() => void, RegExp][] = [
    [() => writeFileSync(file, "export const x = 1;"), /no default export/],
    [() => writeFileSync(file, endlessLoop), /a loop blocked the gateway|without yielding/],
    [() => chmodSync(file, 0o666), /other users may write handler\.ts/],
    [() => rmSync(file), /there is no handler\.ts/],
    [
      () => writeFileSync(join(home, "hooks/alone/HOOK.md"), "---js\n{}\n---\n"),
      /HOOK\.md:1: .*not supported/,
    ],
  ];
  for (const [breakIt, message] of broken) {
    breakIt();
    const { code, stderr } = await run("hooks", "check", "alone");
    assert.is(code, 1);
    assert.match(stderr, message);
    assert.is(stderr.trim().split("\n").length, 1);
  }
  assert.match((await run("hooks", "check", "nobody")).stderr, /no hook nobody/);
  assert.is((await run("hooks", "list")).code, 1);
});

test.run();
