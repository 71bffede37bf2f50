import { chmodSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { suite } from "../../../../support/suite.ts";
import * as assert from "uvu/assert";
import { type InProcessGateway, makeHome, startGateway } from "../../../../support/gateway.ts";
import { portico } from "../../../../support/portico.ts";
import { until } from "../../../../support/until.ts";

const test = suite("plugins");
let gateway: InProcessGateway;
test.after.each(() => gateway?.stop());

const greeter = (greeting: string, extra = "") => `
  import { definePlugin, Type } from "portico";
  export default definePlugin({
    name: "greeter",
    config: { greeter: Type.Object({ name: Type.String({ default: "world" }) }) },
    setup(ctx, config) {
      ${extra}
      ctx.route("GET", "/greet", { access: "gateway" }, () => ({ text: "${greeting} " + config.greeter.name }));
    },
  });`;
const file = "plugins/greeter/plugin.ts";
const greet = async () =>
  (await gateway.request("GET", "/greet")).json() as Promise<{ text?: string; error?: object }>;
const info = () => gateway.json("GET", "/kernel/plugins/greeter");

test("a plugin in the home works like a built-in one, with its section of the configuration", async () => {
  gateway = await startGateway({
    files: { [file]: greeter("hello") },
    config: { greeter: { name: "Ada" } },
  });
  assert.equal(await greet(), { text: "hello Ada" });
  const record = await info();
  assert.is(record.state, "active");
  assert.is(record.root, "managed");
  assert.equal(record.effects, ["route GET /greet"]);
});

test("a saved version becomes active without a restart; a broken one keeps the old version and names the position", async () => {
  gateway = await startGateway({ files: { [file]: greeter("one") } });
  gateway.write(file, greeter("two"));
  await until("the second version", async () => (await greet()).text === "two world");

  gateway.write(file, "export default (");
  const broken = await until("the error", async () => {
    const record = await info();
    return record.error && record;
  });
  assert.is(broken.state, "stale");
  assert.match(broken.error, /plugin\.ts:1:\d+/);
  assert.equal(await greet(), { text: "two world" });

  gateway.write(file, greeter("three"));
  await until("the third version", async () => (await greet()).text === "three world");
  assert.is((await info()).state, "active");
});

test("a setup that throws leaves nothing behind and keeps the old version", async () => {
  gateway = await startGateway({ files: { [file]: greeter("one") } });
  gateway.write(
    file,
    greeter(
      "two",
      `ctx.route("GET", "/left", { access: "gateway" }, () => 1); throw new Error("no luck");`,
    ),
  );
  const record = await until("the failure", async () => {
    const now = await info();
    return now.error && now;
  });
  assert.match(record.error, /setup failed: no luck/);
  assert.equal(await greet(), { text: "one world" });
  assert.is((await gateway.request("GET", "/left")).status, 404);
});

test("a task begins when setup has succeeded, and never where it fails", async () => {
  const task =
    'ctx.task("t", { everyMs: 1, immediately: true }, () => ctx.log.info(done ? "in time" : "too early"))';
  const pause = "await new Promise((resolve) => setTimeout(resolve, 10))";
  const plugin = (end: string) =>
    `export default { name: "greeter", async setup(ctx) { let done = false; ${task}; ${pause}; ${end} } };`;
  gateway = await startGateway({ files: { [file]: plugin('throw new Error("no luck")') } });
  assert.is((await info()).state, "failed");
  gateway.write(file, plugin("done = true"));
  await until("the task", () => gateway.lines.some(({ msg }) => msg === "in time"));
  assert.not(gateway.lines.some(({ msg }) => msg === "too early"));
});

test("a request under way ends on the version that it began with", async () => {
  const slow = (text: string, extra = "") => `
    import { definePlugin } from "portico";
    export default definePlugin({ name: "greeter", setup(ctx) {
      ${extra}
      ctx.route("GET", "/greet", { access: "gateway" }, async () => {
        ctx.log.info("asked");
        await new Promise((resolve) => globalThis.__release = resolve);
        return { text: "${text}" };
      });
    } });`;
  gateway = await startGateway({ files: { [file]: slow("old") } });
  const greeting = greet();
  await until("the handler", () => gateway.lines.some(({ msg }) => msg === "asked"));
  gateway.write(file, greeter("new"));
  await until(
    "the new version",
    async () => (await info()).generation === 2 && (await info()).state === "active",
  );
  assert.equal(await greet(), { text: "new world" });
  (globalThis as unknown as { __release: () => void }).__release();
  assert.equal(await greeting, { text: "old" });
});

test("a plugin's kept state passes on to its next version, and ends when it is switched off", async () => {
  const counter = (text: string) => `
    import { definePlugin } from "portico";
    export default definePlugin({ name: "greeter", setup(ctx) {
      const counts = ctx.keep("counts", () => ({ requests: 0 }));
      ctx.route("GET", "/greet", { access: "gateway" }, () => ({ text: "${text} " + ++counts.requests }));
    } });`;
  const waitForText = (text: string) =>
    until(text, async () => ((await greet()).text ?? "").startsWith(text));
  gateway = await startGateway({ files: { [file]: counter("first") } });
  assert.equal([(await greet()).text, (await greet()).text], ["first 1", "first 2"]);
  await gateway.json("POST", "/kernel/plugins/greeter/reload", {});
  assert.is((await greet()).text, "first 3", "a reload of the same files");

  gateway.write(file, counter("broken").replace("ctx.route", "ctx.nothing"));
  await until("the failure", async () => (await info()).error);
  assert.is((await greet()).text, "first 4", "a version that fails takes nothing away");

  gateway.write(file, counter("second"));
  await waitForText("second");
  assert.ok(Number((await greet()).text?.split(" ")[1]) > 4, "other code continues with the data");

  await gateway.json("POST", "/kernel/plugins/greeter/disable", {});
  await gateway.json("POST", "/kernel/plugins/greeter/enable", {});
  await waitForText("second");
  assert.is((await greet()).text, "second 2", "it began again");
});

test("an old version handles nothing beside the new one while its task has not ended", async () => {
  const counter = (version: string) => `
    export default {
      name: "counter",
      setup(ctx) {
        ctx.on("message:received", () => ctx.log.info("handled by ${version}"));
        ctx.task("work", { everyMs: 1, immediately: true }, async () => {
          ctx.log.info("work of ${version}");
          await new Promise(() => {});
        });
      },
    };`;
  const path = "plugins/counter/plugin.ts";
  const ask = (content: string) =>
    gateway.request("POST", "/v1/chat/completions", {
      model: "echo",
      messages: [{ role: "user", content }],
    });
  const handled = () =>
    gateway.lines.flatMap(({ msg }) => /handled by (\w+)/.exec(`${msg}`)?.[1] ?? []);
  gateway = await startGateway({
    files: { [path]: counter("first") },
    config: { channels: { main: { provider: "echo", models: ["echo"] } } },
  });
  await until("the task of the first", () =>
    gateway.lines.some(({ msg }) => msg === "work of first"),
  );
  gateway.write(path, counter("second"));
  await until("the task of the second", () =>
    gateway.lines.some(({ msg }) => msg === "work of second"),
  );
  await ask("hi");
  await until("the event is handled", () => handled().includes("second"));
  assert.equal(handled(), ["second"]);
});

test("a removed plugin disappears with all its registrations", async () => {
  gateway = await startGateway({ files: { [file]: greeter("hello") } });
  assert.is((await greet()).text, "hello world");
  renameSync(join(gateway.home, "plugins/greeter"), join(gateway.home, "gone"));
  await until("the removal", async () => (await gateway.request("GET", "/greet")).status === 404);
});

test("a plugin is disabled and enabled by command, and the configuration records it", async () => {
  gateway = await startGateway({ files: { [file]: greeter("hello") } });
  const disabled = await gateway.json("POST", "/kernel/plugins/greeter/disable");
  assert.equal([disabled.state, disabled.reason], ["disabled", "the configuration disables it"]);
  assert.is((await gateway.request("GET", "/greet")).status, 404);
  const enabled = await gateway.json("POST", "/kernel/plugins/greeter/enable");
  assert.is(enabled.state, "active");
  assert.equal(await greet(), { text: "hello world" });
});

test("a plugin whose name has a dot is switched off and on too", async () => {
  const dotted = `export default { name: "acme.tools", setup() {} };`;
  gateway = await startGateway({ files: { "plugins/acme/plugin.ts": dotted } });
  for (const [action, state] of [
    ["disable", "disabled"],
    ["enable", "active"],
  ]) {
    assert.is((await gateway.json("POST", `/kernel/plugins/acme.tools/${action}`)).state, state);
  }
});

test("a plugin of a higher root replaces the one of its name, visibly, and gives it back", async () => {
  gateway = await startGateway({
    config: { plugins: { trust: "workspace" } },
    files: { [file]: greeter("home") },
  });
  gateway.write(`workspace/${file}`, greeter("workspace"));
  await until("the override", async () => (await greet()).text === "workspace world");
  const list = (await gateway.json("GET", "/kernel/plugins")).plugins.filter(
    (plugin: { name: string }) => plugin.name === "greeter",
  );
  assert.equal(list.map((plugin: { state: string }) => plugin.state).sort(), [
    "active",
    "shadowed",
  ]);
  assert.ok(
    list.some((plugin: { shadowedBy?: string }) => plugin.shadowedBy?.includes("workspace")),
  );
  rmSync(join(gateway.home, "workspace/plugins/greeter"), { recursive: true });
  await until("the lower one", async () => (await greet()).text === "home world");
});

test("workspace plugins are loaded while they are trusted", async () => {
  gateway = await startGateway({ files: { [`workspace/${file}`]: greeter("workspace") } });
  assert.is((await gateway.request("GET", "/greet")).status, 404);
  const { state, error, reason } = await info();
  assert.is(state, "refused");
  assert.match(
    String(error ?? reason),
    /plugins\.trust is "managed", which does not trust workspace/,
  );
  await gateway.gateway.config.set("plugins.trust", "workspace");
  assert.equal(await greet(), { text: "workspace world" });
  gateway.write(`workspace/${file}`, greeter("changed"));
  await until("the watched change", async () => (await greet()).text === "changed world");
  await gateway.gateway.config.set("plugins.trust", "home");
  assert.is((await gateway.request("GET", "/greet")).status, 404);
});

test("files that others may write are refused with the reason", async () => {
  gateway = await startGateway();
  mkdirSync(join(gateway.home, "plugins/greeter"), { recursive: true });
  chmodSync(join(gateway.home, "plugins/greeter"), 0o777);
  gateway.write(file, greeter("hello"));
  const record = await until("the refusal", async () => info());
  assert.is(record.state, "refused");
  assert.match(record.error, /other users may write/);
});

test("the section of a refused plugin keeps nothing from starting", async () => {
  const home = makeHome();
  mkdirSync(join(home, "plugins/greeter"), { recursive: true });
  chmodSync(join(home, "plugins/greeter"), 0o777);
  gateway = await startGateway({
    home,
    files: { [file]: greeter("hello") },
    config: { greeter: { name: "Ada" } },
  });
  assert.is((await info()).state, "refused");
  await gateway.stop();
  rmSync(home, { recursive: true });
});

test("a file that a plugin imports is checked too, and a running plugin is unloaded when others may write the file", async () => {
  const importing = `import { text } from "./parts/text.ts";
    export default { name: "greeter", setup(ctx) { ctx.route("GET", "/greet", { access: "gateway" }, () => ({ text })); } };`;
  const imported = "plugins/greeter/parts/text.ts";
  gateway = await startGateway({
    files: { [file]: importing, [imported]: `export const text = "hello";` },
  });
  assert.equal(await greet(), { text: "hello" });
  chmodSync(join(gateway.home, imported), 0o666);
  await gateway.json("POST", "/kernel/plugins/rescan");
  const record = await info();
  assert.is(record.state, "refused");
  assert.match(record.error, /other users may write parts\/text\.ts/);
  assert.is((await gateway.request("GET", "/greet")).status, 404);

  chmodSync(join(gateway.home, imported), 0o600);
  await gateway.json("POST", "/kernel/plugins/rescan");
  assert.equal(await greet(), { text: "hello" });
});

test("a plugin whose link leads out of its root is refused before anything of it runs", async () => {
  gateway = await startGateway();
  gateway.write(
    "elsewhere/text.ts",
    "globalThis.__ranFromElsewhere = true; export const text = 1;",
  );
  mkdirSync(join(gateway.home, "plugins/greeter"), { recursive: true });
  symlinkSync(
    join(gateway.home, "elsewhere/text.ts"),
    join(gateway.home, "plugins/greeter/text.ts"),
  );
  gateway.write(file, `import "./text.ts"; export default { name: "greeter", setup() {} };`);
  await gateway.json("POST", "/kernel/plugins/rescan");
  const record = await info();
  assert.is(record.state, "refused");
  assert.match(record.error, /the real path of text\.ts is outside its root/);
  assert.is((globalThis as { __ranFromElsewhere?: boolean }).__ranFromElsewhere, undefined);
});

test("a plugin waits for a service that it needs, and starts once that is available", async () => {
  const needs = `
    import { definePlugin } from "portico";
    export default definePlugin({ name: "eater", needs: ["soup"], setup(ctx) {
      ctx.route("GET", "/eat", { access: "gateway" }, () => ({ taste: ctx.use("soup").taste }));
    } });`;
  gateway = await startGateway({ files: { "plugins/eater/plugin.ts": needs } });
  const waiting = await gateway.json("GET", "/kernel/plugins/eater");
  assert.is(waiting.state, "waiting");
  assert.match(waiting.error, /needs soup/);
  assert.is((await gateway.request("GET", "/ready")).status, 503);
  gateway.write(
    "plugins/cook/plugin.ts",
    `import { definePlugin } from "portico";
     export default definePlugin({ name: "cook", setup(ctx) { ctx.provide("soup", { taste: "good" }); } });`,
  );
  await until("the soup", async () => (await gateway.request("GET", "/eat")).status === 200);
  assert.equal(await gateway.json("GET", "/eat"), { taste: "good" });
  assert.is((await gateway.request("GET", "/ready")).status, 200);

  gateway.write("plugins/eater/plugin.ts", needs.replace('["soup"]', '["soup", "salt"]'));
  await gateway.json("POST", "/kernel/plugins/rescan");
  const behind = await gateway.json("GET", "/kernel/plugins/eater");
  assert.is(behind.state, "stale", "what runs is an older version");
  assert.match(behind.error, /needs salt/);
  assert.equal(await gateway.json("GET", "/eat"), { taste: "good" });
});

test("a plugin that does not load does not prevent others from running", async () => {
  gateway = await startGateway({
    files: { "plugins/bad/plugin.ts": "export const nothing = 1;", [file]: greeter("hello") },
    config: { bad: { any: "thing" } },
  });
  const bad = await gateway.json("GET", "/kernel/plugins/bad");
  assert.is(bad.state, "failed");
  assert.match(bad.error, /default export/);
  assert.is((await greet()).text, "hello world");
});

test("a changed section of the configuration reaches the plugin", async () => {
  gateway = await startGateway({ files: { [file]: greeter("hello") } });
  await gateway.gateway.config.set("greeter.name", "Grace");
  assert.equal(await greet(), { text: "hello Grace" });
});

const taker = (name: string, refuses = "never") => `
  import { definePlugin, Type } from "portico";
  export default definePlugin({
    name: "${name}",
    config: { ${name}: Type.Object({ word: Type.String({ default: "old" }) }) },
    setup(ctx, config) {
      let { word } = config.${name};
      ctx.onConfig((next) => {
        if (next.${name}.word === "${refuses}") throw new Error("not this word");
        word = next.${name}.word;
      });
      ctx.route("GET", "/${name}", { access: "gateway" }, () => ({ word }));
    },
  });`;
const words = () =>
  Promise.all(
    ["early", "late"].map(async (name) => (await gateway.json("GET", `/${name}`)).word as string),
  );

test("a change that one plugin refuses is active for none", async () => {
  gateway = await startGateway({
    files: {
      "plugins/early/plugin.ts": taker("early"),
      "plugins/late/plugin.ts": taker("late", "bad"),
      [file]: greeter("hello"),
    },
  });
  const before = readFileSync(join(gateway.home, "portico.json"), "utf8");
  const changed = (extra: object) => JSON.stringify({ ...JSON.parse(before), ...extra });
  gateway.write(
    "portico.json",
    changed({ early: { word: "new" }, greeter: { name: "Ada" }, late: { word: "bad" } }),
  );
  const problem = await until("the refusal", () => gateway.gateway.config.problem);
  assert.match(problem.message, "plugin late: not this word");
  assert.equal(await words(), ["old", "old"]);
  assert.equal(await greet(), { text: "hello world" });
  gateway.write("portico.json", before);
  await until("the mending", () => gateway.gateway.config.problem === undefined);
  assert.equal(await words(), ["old", "old"]);

  gateway.write("portico.json", changed({ early: { word: "new" }, late: { word: "good" } }));
  await until("the next change", async () => (await words()).join() === "new,good");
});

test("portico config set says that the running gateway refuses what it wrote", async () => {
  gateway = await startGateway({ files: { "plugins/late/plugin.ts": taker("late", "bad") } });
  const refused = await portico(gateway.home, ["config", "set", "late.word", "bad"]);
  assert.is(refused.code, 1);
  assert.match(refused.stderr, /^portico: .*not this word.*\n$/);
  assert.is((await portico(gateway.home, ["config", "set", "late.word", "good"])).code, 0);
  assert.is((await gateway.json("GET", "/late")).word, "good");
});

test("a failed setup is tried again only on request, or when its configuration or its files changed", async () => {
  const failing = (hint = "") => `
    import { definePlugin, Type } from "portico";
    export default definePlugin({
      name: "picky",
      config: { picky: Type.Object({ mood: Type.String({ default: "bad" }) }) },
      setup(ctx, config) {
        globalThis.__tries.push("${hint}" + config.picky.mood);
        if (config.picky.mood === "bad") throw new Error("in a bad mood");
      },
    });`;
  const tries: string[] = [];
  Object.assign(globalThis, { __tries: tries });
  gateway = await startGateway({ files: { "plugins/picky/plugin.ts": failing() } });
  const picky = () => gateway.json("GET", "/kernel/plugins/picky");
  const rescan = () => gateway.json("POST", "/kernel/plugins/rescan");
  assert.match((await picky()).error, /in a bad mood/);
  await rescan();
  await rescan();
  assert.equal(tries, ["bad"]);

  await gateway.json("POST", "/kernel/plugins/picky/reload");
  assert.equal(tries.splice(0), ["bad", "bad"]);
  gateway.write("plugins/picky/plugin.ts", failing("changed, "));
  await rescan();
  assert.equal(tries.splice(0), ["changed, bad"]);
  await gateway.gateway.config.set("picky.mood", "good");
  assert.equal(tries, ["changed, good"]);
  assert.is((await picky()).state, "active");
});

test("a plugin whose setup failed can be switched off, and is tried again when it is switched on", async () => {
  gateway = await startGateway({
    files: { [file]: greeter("hello", `throw new Error("no luck");`) },
  });
  assert.is((await info()).state, "failed");
  assert.is((await gateway.json("POST", "/kernel/plugins/greeter/disable")).state, "disabled");
  const enabled = await gateway.json("POST", "/kernel/plugins/greeter/enable");
  assert.is(enabled.state, "failed");
  assert.match(enabled.error, /no luck/);
});

test.run();
