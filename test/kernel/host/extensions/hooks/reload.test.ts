import { PorticoError } from "portico";
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { suite } from "../../../../support/suite.ts";
import * as assert from "uvu/assert";
import { answering, descriptor, type HookHome, makeHookHome } from "./hook-home.ts";
import { untilRight } from "../../../../support/until.ts";

const test = suite<{ home: HookHome }>("hook reload");
test.before.each(async (context) => {
  context.home = await makeHookHome({
    files: { "hooks/a/HOOK.md": descriptor(), "hooks/a/handler.ts": answering("one") },
  });
  await context.home.host.watching();
});
test.after.each((context) => context.home.stop());

const replies = (home: HookHome, text: string | undefined) =>
  untilRight(
    async () => (await home.ask("q")).reply,
    (reply) => reply === text,
  );
const state = (home: HookHome, wanted: string, name = "a") =>
  untilRight(
    () => home.host.info(name),
    (hook) => hook.state === wanted,
  );

test("a saved version becomes active, and only the new version replies", async ({ home }) => {
  assert.is((await home.ask("q")).reply, "one");
  home.write("hooks/a/handler.ts", answering("two"));
  await replies(home, "two");
  const { loaded } = home.host.info("a");
  assert.is(loaded?.generation, 2);
  assert.is((await home.ask("q")).outcomes.length, 1);
});

test("a saved file is compiled before its directory is quiet, and the content at that time is what runs", async () => {
  let inBetween = async () => {};
  const home: HookHome = await makeHookHome({
    files: { "hooks/a/HOOK.md": descriptor(), "hooks/a/handler.ts": answering("one") },
    // Behind what reads, and so before the scan.
    reading: () => void home.host.inTurn(() => inBetween()),
    idle: true,
  });
  await home.host.start();
  await home.host.watching();
  // What stands anew is looked at as a whole.
  let looks = 0;
  inBetween = async () => void looks++;
  await untilRight(() => looks, Boolean);
  const bundle = () => {
    const name = readdirSync(join(home.dir, "cache")).find((file) => file.endsWith(".cjs"))!;
    const file = join(home.dir, "cache", name);
    return { text: readFileSync(file, "utf8"), changed: statSync(file, { bigint: true }).ctimeNs };
  };
  const compiled: { reply: string | undefined; changed: bigint }[] = [];
  inBetween = async () => {
    const { text, changed } = bundle();
    if (text.includes('"two"')) compiled.push({ reply: (await home.ask("q")).reply, changed });
  };
  home.write("hooks/a/handler.ts", answering("two"));
  await replies(home, "two");
  assert.is(compiled[0]?.reply, "one");
  assert.is(compiled[0]?.changed, bundle().changed, "it is not compiled again");
  inBetween = async () => {
    home.write("hooks/a/handler.ts", answering("three"));
    inBetween = async () => {};
  };
  home.write("hooks/a/handler.ts", "export default (");
  await replies(home, "three");
  assert.is(home.host.info("a").loaded?.generation, 3);
  await home.stop();
});

test("after a failed reload, all workers activate the repaired version or none does", async () => {
  const proposals: string[] = [];
  const home = await makeHookHome({
    files: { "hooks/a/HOOK.md": descriptor(), "hooks/a/handler.ts": answering("one") },
    agree: async (subject, _id, refusal) =>
      void proposals.push(refusal ? `${subject} refused` : subject),
  });
  home.write("hooks/a/handler.ts", "export default (");
  await home.host.reload("a");
  home.write("hooks/a/handler.ts", answering("two"));
  await home.host.rescan();
  assert.is((await home.ask("q")).reply, "two");
  assert.equal(proposals, ["hooks.a"]);
  await home.stop();
});

test("a version that another worker refuses never replies and is disposed of", async () => {
  const errors: (string | undefined)[] = [];
  const home: HookHome = await makeHookHome({
    files: { "hooks/a/HOOK.md": descriptor(), "hooks/a/handler.ts": answering("one") },
    async agree() {
      errors.push((await home.ask("q")).reply);
      throw new Error("the other one lacks a package");
    },
  });
  const disposedKey = "portico.test.refused";
  const dispose = `export const dispose = () => { globalThis[Symbol.for("${disposedKey}")] = true; };\n`;
  home.write("hooks/a/handler.ts", answering("two") + dispose);
  await home.host.rescan();
  const { state: now, error, loaded } = home.host.info("a");
  assert.equal([now, error, loaded?.generation], ["stale", "the other one lacks a package", 1]);
  assert.equal([...errors, (await home.ask("q")).reply], ["one", "one"]);
  assert.is(Reflect.get(globalThis, Symbol.for(disposedKey)), true);
  await home.stop();
});

test("a version that another one overtakes is not a failure, and is activated when it is saved again", async () => {
  let isOvertaken = true;
  const home = await makeHookHome({
    files: { "hooks/a/HOOK.md": descriptor(), "hooks/a/handler.ts": answering("one") },
    async agree() {
      if (isOvertaken) throw new PorticoError("conflict", "another version has arrived");
    },
  });
  home.write("hooks/a/handler.ts", answering("two"));
  await home.host.rescan();
  assert.is((await home.ask("q")).reply, "one");
  assert.is(home.host.info("a").error, undefined);
  isOvertaken = false;
  await home.host.rescan();
  assert.is((await home.ask("q")).reply, "two");
  await home.stop();
});

test("versions on the disk at a change of the configuration are activated by all workers or by none", async () => {
  const home = await makeHookHome({
    files: { "hooks/a/HOOK.md": descriptor(), "hooks/a/handler.ts": answering("one") },
    async agree() {
      throw new Error("not here");
    },
  });
  home.write("hooks/a/handler.ts", answering("two"));
  await home.host.reconfigure(["hooks"]);
  assert.is((await home.ask("q")).reply, "one");
  assert.is(home.host.info("a").error, "not here");
  await home.stop();
});

test("the other workers learn of a version that was activated without asking them", async () => {
  const notices: string[] = [];
  const home = await makeHookHome({
    settings: { entries: { a: { enabled: false } } },
    files: { "hooks/a/HOOK.md": descriptor(), "hooks/a/handler.ts": answering("one") },
    agree: async (subject, _id, refusal) =>
      void notices.push(`${subject} ${refusal?.message ?? "runs"}`),
  });
  assert.equal(notices, []);
  home.settings.entries = {};
  await home.host.reconfigure(["hooks"]);
  assert.is((await home.ask("q")).reply, "one");
  assert.equal(notices, ["hooks.a runs"]);
  await home.stop();
});

test("a change of a file that the handler imports reloads the hook too", async ({ home }) => {
  home.write("hooks/a/lib/words.ts", 'export const word = "first";');
  home.write(
    "hooks/a/handler.ts",
    'import { word } from "./lib/words.ts";\nexport default () => ({ reply: word });',
  );
  await replies(home, "first");
  home.write("hooks/a/lib/words.ts", 'export const word = "second";');
  await replies(home, "second");
});

test("an import may resolve elsewhere without a change of any file, through a link or a file of higher precedence", async ({
  home,
}) => {
  const sourceOf = (word: string) => `export const word: string = ${JSON.stringify(word)};`;
  const at = (path: string) => join(home.dir, "hooks/a", path);
  const link = (target: string, path: string) => {
    symlinkSync(target, at("next"));
    renameSync(at("next"), at(path));
  };
  for (const [dir, word] of ["one", "two", "three", "four"].entries())
    home.write(`hooks/a/v${dir}/word.ts`, sourceOf(word));
  home.write(
    "hooks/a/first.ts",
    'import { word } from "./lib/word";\nexport default () => ({ reply: word });',
  );
  home.write("hooks/a/second.ts", answering("second"));
  link("v0", "lib");
  link("first.ts", "handler.ts");
  await replies(home, "one");
  link("v1", "lib");
  await replies(home, "two");
  link("second.ts", "handler.ts");
  await replies(home, "second");
  link("first.ts", "handler.ts");
  await replies(home, "two");
  home.write("hooks/a/v1/word.tsx", sourceOf("before it"));
  await replies(home, "before it");
  rmSync(at("v1/word.tsx"));
  await replies(home, "two");
  rmSync(at("lib"));
  renameSync(at("v2"), at("lib"));
  await replies(home, "three");
  renameSync(at("lib"), at("v2"));
  renameSync(at("v3"), at("lib"));
  await replies(home, "four");
  const generation = home.host.info("a").loaded?.generation;
  home.write("hooks/a/notes.txt", "nothing of it");
  home.write("hooks/a/handler.ts~", "export default (");
  await home.host.rescan();
  assert.is(
    home.host.info("a").loaded?.generation,
    generation,
    "what nothing leads to changes nothing",
  );
});

test("a broken save keeps the old version and shows file and line; a repair loads", async ({
  home,
}) => {
  home.write("hooks/a/handler.ts", "export default () => {\n  return { reply: ;\n};\n");
  const stale = await state(home, "stale");
  assert.match(stale.error ?? "", /^handler\.ts:2:/);
  assert.is(stale.file, join(home.dir, "hooks/a/handler.ts"));
  assert.is(stale.line, 2);
  assert.is(stale.loaded?.generation, 1);
  assert.is((await home.ask("q")).reply, "one");
  await untilRight(
    () => home.lines.find((line) => /cannot be loaded/.test(String(line["msg"]))),
    Boolean,
  );
  home.write("hooks/a/handler.ts", answering("mended"));
  await replies(home, "mended");
  const mended = home.host.info("a");
  assert.is(mended.state, "active");
  assert.is(mended.error, undefined);
});

test("before a broken save is reported, the disk is scanned again, whether or not a change was noticed", async ({
  home,
}) => {
  for (const reply of [
    'export { default } from "../../unwatched/lib.ts";',
    'import * as lib from "../../unwatched/lib.ts";\nexport default lib.default;',
  ]) {
    home.write("unwatched/lib.ts", answering("one"));
    home.write("hooks/a/handler.ts", reply);
    await replies(home, "one");
    home.write("unwatched/lib.ts", "");
    await home.host.rescan();
    assert.is(home.host.info("a").state, "stale");
    home.write("unwatched/lib.ts", answering("two"));
    await replies(home, "two");
    assert.is(home.host.info("a").state, "active");
  }
  assert.not(home.lines.some((line) => /cannot be loaded/.test(String(line["msg"]))));
});

test("a missing export, a throw at load and a wrong export are failures of the new version only", async ({
  home,
}) => {
  const cases: [string, RegExp][] = [
    ["export const handler = () => {};", /no default export.*it exports handler/],
    ["export default 42;", /no default export that is a function/],
    [
      'const x = 1;\nthrow new Error("at load");\nexport default () => x;',
      /handler\.ts:2.*at load/,
    ],
    [
      'import { nothing } from "./not-there.ts";\nexport default () => nothing;',
      /handler\.ts:1.*not-there/,
    ],
    ["await Promise.resolve();\nexport default () => {};", /top-level await/],
  ];
  for (const [text, message] of cases) {
    home.write("hooks/a/handler.ts", text);
    const { error } = await untilRight(
      () => home.host.info("a"),
      (hook) => message.test(hook.error ?? ""),
    );
    assert.match(error ?? "", message);
    assert.is((await home.ask("q")).reply, "one");
  }
});

test("HOOK.md that is not YAML keeps the old version", async ({ home }) => {
  home.write("hooks/a/HOOK.md", "---\nevents: [test:asked\n---\n");
  const stale = await state(home, "stale");
  assert.match(stale.error ?? "", /HOOK\.md:\d+: not valid YAML/);
  assert.is((await home.ask("q")).reply, "one");
  home.write("hooks/a/HOOK.md", "---js\n{}\n---\n");
  await untilRight(
    () => home.host.info("a"),
    (hook) => /not supported/.test(hook.error ?? ""),
  );
  home.write("hooks/a/HOOK.md", descriptor("priority: 3"));
  assert.is((await state(home, "active")).priority, 3);
});

test("changed events take effect", async ({ home }) => {
  home.write("hooks/a/HOOK.md", descriptor("", "test:noticed"));
  await replies(home, undefined);
  home.write("hooks/a/HOOK.md", descriptor("", "test:noticed, test:asked"));
  await replies(home, "one");
});

test("a hook that is added, renamed and removed is followed", async ({ home }) => {
  home.write("hooks/b/handler.ts", answering("b"));
  home.write("hooks/b/HOOK.md", descriptor("priority: 9"));
  await replies(home, "b");
  renameSync(join(home.dir, "hooks/b"), join(home.dir, "hooks/c"));
  // The old name is listed for as long as its version answers: that the new one runs when it is gone is no chance.
  const renamed = await untilRight(
    () => home.host.list(),
    (records) => records.every((hook) => hook.name !== "b"),
  );
  assert.equal(
    renamed.map((hook) => [hook.name, hook.state]),
    [
      ["a", "active"],
      ["c", "active"],
    ],
  );
  assert.is((await home.ask("q")).reply, "b");
  home.remove("hooks/c");
  await replies(home, "one");
  assert.equal(
    home.host.list().map((hook) => hook.name),
    ["a"],
  );
});

test("a workspace hook replaces the managed one visibly, and gives way again", async ({ home }) => {
  home.write("workspace/hooks/a/handler.ts", answering("workspace"));
  home.write("workspace/hooks/a/HOOK.md", descriptor());
  await replies(home, "workspace");
  const [top, below] = home.host.list();
  assert.equal([top?.state, top?.root, top?.shadows?.root], ["active", "workspace", "managed"]);
  assert.equal(
    [below?.state, below?.root, below?.shadowedBy?.root],
    ["shadowed", "managed", "workspace"],
  );
  assert.ok(
    home.lines.some((line) =>
      /workspace\/hooks\/a replaces .*\/hooks\/a/.test(String(line["msg"])),
    ),
  );
  home.remove("workspace/hooks/a");
  await replies(home, "one");
  assert.equal(
    home.host.list().map((hook) => hook.state),
    ["active"],
  );
});

test("a broken override is shown as failed while the previous version continues", async ({
  home,
}) => {
  home.write("workspace/hooks/a/handler.ts", "export default (");
  home.write("workspace/hooks/a/HOOK.md", descriptor());
  const failed = await untilRight(
    () => home.host.info("a"),
    (hook) => hook.root === "workspace" && hook.state === "failed",
  );
  assert.is(failed.shadows?.root, "managed");
  assert.is(failed.loaded?.dir, join(home.dir, "hooks/a"));
  assert.is((await home.ask("q")).reply, "one");
});

test("a hook of another name in its front matter is known by that", async ({ home }) => {
  home.write("workspace/hooks/other/handler.ts", answering("other"));
  home.write("workspace/hooks/other/HOOK.md", descriptor("name: a"));
  await replies(home, "other");
});

test("of two hooks with one name in a root, the directory of that name runs and the other reports why it does not", async ({
  home,
}) => {
  home.write("hooks/0/handler.ts", answering("zero"));
  home.write("hooks/0/HOOK.md", descriptor("name: a"));
  const double = await untilRight(() => home.host.list()[1], Boolean);
  assert.is(double?.state, "failed");
  assert.match(double?.error ?? "", /the name a is already used by .*hooks\/a/);
  assert.is((await home.ask("q")).reply, "one");
  home.remove("hooks/a");
  await replies(home, "zero");
});

test("calls that run end on the old version, which is then cleaned up once", async ({ home }) => {
  const g = globalThis as { release?: () => void; events?: string[] };
  g.events = [];
  home.write(
    "hooks/a/handler.ts",
    `export default async (event, ctx) => {
       ctx.unloaded.addEventListener("abort", () => globalThis.events.push("unloaded"));
       await new Promise((resolve) => { globalThis.release = resolve; });
       globalThis.events.push("ended");
       return { reply: "old" };
     };
     export const dispose = async () => { globalThis.events.push("disposed"); };`,
  );
  await untilRight(
    () => home.host.info("a"),
    (hook) => hook.loaded?.generation === 2,
  );
  const running = home.ask("q");
  await untilRight(() => g.release, Boolean);
  home.write("hooks/a/handler.ts", answering("new"));
  await untilRight(
    () => home.host.info("a"),
    (hook) => hook.loaded?.generation === 3,
  );
  assert.is((await home.ask("q")).reply, "new");
  assert.equal(g.events, ["unloaded"]);
  g.release?.();
  assert.is((await running).reply, "old");
  await untilRight(
    () => g.events,
    (events) => events?.length === 3,
  );
  assert.equal(g.events, ["unloaded", "ended", "disposed"]);
});

test("a dispose that throws is logged and stops nothing", async ({ home }) => {
  home.write(
    "hooks/a/handler.ts",
    `${answering("two")}export const dispose = () => { throw new Error("no way"); };`,
  );
  await replies(home, "two");
  home.write("hooks/a/handler.ts", answering("three"));
  await replies(home, "three");
  await untilRight(
    () => home.lines.some((line) => /clean-up failed: no way/.test(String(line["msg"]))),
    Boolean,
  );
});

test("a save is noticed in every way in which editors write", async ({ home }) => {
  const file = join(home.dir, "hooks/a/handler.ts");
  writeFileSync(file, answering("in place"));
  await replies(home, "in place");
  rmSync(file);
  writeFileSync(file, answering("removed and written"));
  await replies(home, "removed and written");
  renameSync(file, `${file}~`);
  writeFileSync(file, answering("vim"));
  rmSync(`${file}~`);
  await replies(home, "vim");
  writeFileSync(file, answering("half").slice(0, 20));
  writeFileSync(file, answering("whole"));
  await replies(home, "whole");
});

test("a deployment that exchanges the directory is noticed", async ({ home }) => {
  mkdirSync(join(home.dir, "next"));
  home.write("next/HOOK.md", descriptor());
  home.write("next/handler.ts", answering("deployed"));
  renameSync(join(home.dir, "hooks/a"), join(home.dir, "previous"));
  renameSync(join(home.dir, "next"), join(home.dir, "hooks/a"));
  await replies(home, "deployed");
  home.write("hooks/a/handler.ts", answering("edited"));
  await replies(home, "edited");
});

test("roots that are removed and created again are followed", async ({ home }) => {
  home.remove("hooks");
  await replies(home, undefined);
  home.write("hooks/a/handler.ts", answering("again"));
  home.write("hooks/a/HOOK.md", descriptor());
  await replies(home, "again");
  home.write("hooks/a/handler.ts", answering("edited"));
  await replies(home, "edited");
});

test("a linked directory inside its root is followed, also when it points elsewhere", async ({
  home,
}) => {
  home.write("hooks/.store/v1/HOOK.md", descriptor("name: linked\npriority: 5"));
  home.write("hooks/.store/v1/handler.ts", answering("v1"));
  home.write("hooks/.store/v2/HOOK.md", descriptor("name: linked\npriority: 5"));
  home.write("hooks/.store/v2/handler.ts", answering("v2"));
  const link = join(home.dir, "hooks/linked");
  symlinkSync(join(home.dir, "hooks/.store/v1"), link);
  await replies(home, "v1");
  symlinkSync(join(home.dir, "hooks/.store/v2"), `${link}.new`);
  renameSync(`${link}.new`, link);
  await replies(home, "v2");
  home.write("hooks/.store/v2/handler.ts", answering("v3"));
  await replies(home, "v3");
});

test("directories that vanish while they load harm nothing", async ({ home }) => {
  for (let round = 0; round < 20; round++) {
    home.write("hooks/b/handler.ts", answering("b"));
    home.write("hooks/b/HOOK.md", descriptor("priority: 9"));
    const scan = home.host.rescan();
    home.remove("hooks/b");
    await scan;
  }
  await untilRight(
    () => home.host.list().map((hook) => hook.name),
    (names) => names.join() === "a",
  );
  assert.is((await home.ask("q")).reply, "one");
});

test("other file extensions, CommonJS and a named export are accepted", async ({ home }) => {
  home.remove("hooks/a/handler.ts");
  home.write("hooks/a/handler.cjs", 'module.exports = () => ({ reply: "cjs" });');
  await replies(home, "cjs");
  home.remove("hooks/a/handler.cjs");
  home.write("hooks/a/index.mjs", 'export const go = () => ({ reply: "named" });');
  home.write("hooks/a/HOOK.md", descriptor("export: go"));
  await replies(home, "named");
});

test("a hook can be switched off and on", async ({ home }) => {
  assert.is((await home.host.disable("a")).state, "disabled");
  assert.is((await home.ask("q")).reply, undefined);
  home.write("hooks/a/handler.ts", answering("edited meanwhile"));
  assert.is((await home.host.enable("a")).state, "active");
  await replies(home, "edited meanwhile");
});

test("switching a hook off does not wait for running calls, and other saved hooks become active meanwhile", async ({
  home,
}) => {
  const hold = Symbol.for("portico.test.hold");
  const releases: (() => void)[] = [];
  (globalThis as Record<symbol, unknown>)[hold] = () =>
    new Promise<void>((resolve) => releases.push(resolve));
  home.write(
    "hooks/a/handler.ts",
    `export default async () => { await globalThis[Symbol.for("portico.test.hold")](); return { reply: "slow" }; };
     export const dispose = () => { globalThis[Symbol.for("portico.test.hold")](); };\n`,
  );
  await home.host.rescan();
  const running = home.ask("q");
  await untilRight(
    () => releases.length,
    (calls) => calls === 1,
  );
  assert.is((await home.host.disable("a")).state, "disabled");
  home.write("hooks/b/HOOK.md", descriptor());
  home.write("hooks/b/handler.ts", answering("b"));
  await replies(home, "b");
  assert.is(releases.length, 1, "it has not cleaned up under its running call");
  releases[0]?.();
  assert.is((await running).reply, "slow");
  await untilRight(
    () => releases.length,
    (calls) => calls === 2,
  );
});

test.run();
