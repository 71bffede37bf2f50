/** What runs of a user's code: only what its owner approved, only what is the gateway's user's alone, and nothing early. */
import { createHash } from "node:crypto";
import {
  chmodSync,
  chownSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { once } from "node:events";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import * as assert from "uvu/assert";
import { porticoHere } from "../../../../support/portico.ts";
import { suite } from "../../../../support/suite.ts";
import {
  answering,
  descriptor,
  type HookHome,
  type HookHomeOptions,
  makeHookHome,
  rejects,
} from "./hook-home.ts";

const test = suite<{ make: (options?: HookHomeOptions) => Promise<HookHome>; made: HookHome[] }>(
  "hostile hooks",
);
test.before.each((context) => {
  context.made = [];
  context.make = async (options) => {
    const home = await makeHookHome({ settings: { trust: "approved" }, ...options });
    context.made.push(home);
    return home;
  };
});
test.after.each(async (context) => {
  for (const home of context.made) await home.stop();
});

const g = globalThis as { evil?: number };
const evil = (text: string) =>
  `globalThis.evil = 1; export default () => ({ reply: ${JSON.stringify(text)} });\n`;
const good = (text: string) =>
  `globalThis.good = 1; export default () => ({ reply: ${JSON.stringify(text)} });\n`;
const workspace = (handler = good("good")) => ({
  "workspace/hooks/w/HOOK.md": descriptor(),
  "workspace/hooks/w/handler.ts": handler,
});

/** Replaces a file by another text of the same length under the same stamp. */
function replaceUnseen(home: HookHome, path: string, text: string): void {
  const file = join(home.dir, path);
  const { size, atime, mtime } = statSync(file);
  assert.is(Buffer.byteLength(text), size, "of the same length");
  writeFileSync(file, text);
  utimesSync(file, atime, mtime);
}

async function isUnapproved(home: HookHome, name = "w"): Promise<void> {
  await home.host.rescan();
  assert.is(home.host.info(name).state, "unapproved");
  assert.match(home.host.info(name).error ?? "", /not approved/);
  assert.is((await home.ask("q")).reply, undefined);
  assert.is(g.evil, undefined, "it was evaluated");
}

test("a replacement of the same size and time does not run, now or after a restart", async ({
  make,
}) => {
  g.evil = undefined;
  const home = await make({ files: workspace() });
  await home.host.approve("w");
  assert.is((await home.ask("q")).reply, "good");
  replaceUnseen(home, "workspace/hooks/w/handler.ts", evil("evil"));
  await isUnapproved(home);
  await home.host.reload("w");
  await isUnapproved(home);
});

test("an earlier bundle under the same size and time does not run instead of the approved content", async ({
  make,
}) => {
  for (const file of ["handler.ts", "lib.ts"]) {
    g.evil = undefined;
    const home = await make({ files: {} });
    const dir = join(home.dir, "workspace/hooks/w");
    mkdirSync(dir, { recursive: true });
    const main =
      file === "handler.ts" ? evil("evil") : 'import lib from "./lib.ts"; export default lib;\n';
    const files: Record<string, string> = {
      "HOOK.md": descriptor(),
      "handler.ts": main,
      [file]: evil("evil"),
    };
    // The time is older than that of any reader.
    const then = new Date("2026-01-01T00:00:00Z");
    for (const [name, text] of Object.entries(files)) {
      writeFileSync(join(dir, name), text);
      utimesSync(join(dir, name), then, then);
    }
    await isUnapproved(home);
    replaceUnseen(home, `workspace/hooks/w/${file}`, good("good"));
    await home.host.approve("w");
    assert.is((await home.ask("q")).reply, "good", file);
    assert.is(g.evil, undefined, file);
  }
});

test("of contents that change places all the time, only the approved one is ever evaluated", async ({
  make,
}) => {
  g.evil = undefined;
  const home = await make({ files: workspace() });
  await home.host.approve("w");
  const file = join(home.dir, "workspace/hooks/w/handler.ts");
  const worker = new Worker(
    `const { parentPort, workerData: { file, texts } } = require("node:worker_threads");
     const { renameSync, writeFileSync } = require("node:fs");
     const nothing = new Int32Array(new SharedArrayBuffer(4));
     for (let flips = 0; ; flips++) {
       writeFileSync(file + ".new", texts[flips % 2]);
       renameSync(file + ".new", file);
       Atomics.wait(nothing, 0, 0, 0.2); // as long as a disk takes: memory would make ten times the events
       if (flips === 20) parentPort.postMessage("flipping");
     }`,
    { eval: true, workerData: { file, texts: [good("good"), evil("evil")] } },
  );
  await once(worker, "message");
  try {
    for (let round = 0; round < 60; round++) {
      await (round % 3 ? home.host.rescan() : home.host.reload("w"));
      const { reply } = await home.ask("q");
      assert.ok(reply === undefined || reply === "good", reply);
      await home.host.check("w");
    }
  } finally {
    await worker.terminate();
  }
  assert.is(g.evil, undefined);
});

test("a cached bundle that was exchanged, or that another version of Portico made, is not run", async ({
  make,
}) => {
  g.evil = undefined;
  const home = await make({ files: workspace() });
  await home.host.approve("w");
  const bundle = readdirSync(join(home.dir, "cache")).find((name) => name.includes(".whole."));
  const file = join(home.dir, "cache", bundle ?? "");
  const text = readFileSync(file, "utf8");
  const end = text.indexOf("\n");
  const head = JSON.parse(text.slice(2, end)) as { version: number; codeHash: string };
  const body = text.slice(end + 1).replace("globalThis.good", "globalThis.evil");
  assert.is.not(body, text.slice(end + 1));
  const codeHash = createHash("sha256").update(body).digest("hex").slice(0, 32);
  const exchange = (changed: object) =>
    writeFileSync(file, `//${JSON.stringify({ ...head, ...changed })}\n${body}`);
  for (const changed of [{}, { version: head.version - 1, codeHash }]) {
    exchange(changed);
    await home.host.reload("w");
    assert.equal([(await home.ask("q")).reply, g.evil], ["good", undefined]);
  }
  exchange({ codeHash });
  await isUnapproved(home);
  await home.host.reload("w");
  await isUnapproved(home);
  assert.is(g.evil, undefined);
});

test("packages of the workspace are part of what is approved, and come from the bundle", async ({
  make,
}) => {
  g.evil = undefined;
  const home = await make({
    files: {
      ...workspace(
        'import dep from "dep";\nimport { deep } from "other";\nexport default () => ({ reply: dep + deep() });\n',
      ),
      "workspace/node_modules/dep/package.json": '{"name":"dep","main":"index.js"}',
      "workspace/node_modules/dep/index.js": "module.exports = 'dep1';",
      "workspace/hooks/w/node_modules/other/package.json":
        '{"name":"other","type":"module","exports":"./index.js"}',
      "workspace/hooks/w/node_modules/other/index.js": "export const deep = () => 'other';",
    },
  });
  await home.host.approve("w");
  assert.is((await home.ask("q")).reply, "dep1other");
  writeFileSync(
    join(home.dir, "workspace/node_modules/dep/index.js"),
    "globalThis.evil=1; module.exports = 'dep2';",
  );
  await isUnapproved(home);
  await home.host.approve("w");
  assert.is((await home.ask("q")).reply, "dep2other");
});

test("a package outside the bundle is not required at run time", async ({ make }) => {
  g.evil = undefined;
  const home = await make({
    files: {
      ...workspace(
        "export default async (event) => { const m = await import(event.context.text); return { reply: String(m.default) }; };\n",
      ),
      "workspace/evil.cjs": "globalThis.evil = 1; module.exports = 'evil';",
    },
  });
  await home.host.approve("w");
  const { outcomes, reply } = await home.ask(join(home.dir, "workspace/evil.cjs"));
  assert.is(reply, undefined);
  assert.match(outcomes[0]?.error?.message ?? "", /not among the approved files/);
  assert.is(g.evil, undefined);
});

test("HOOK.md, another file for the handler and any other file are part of what is approved", async ({
  make,
}) => {
  g.evil = undefined;
  const changes: [string, string][] = [
    ["workspace/hooks/w/HOOK.md", descriptor("export: other")],
    ["workspace/hooks/w/data.json", "{}"],
    ["workspace/hooks/w/node_modules/x/index.js", "1"],
  ];
  for (const [path, text] of changes) {
    const home = await make({
      files: workspace(`${good("good")}export const other = () => ({ reply: "other" });\n`),
    });
    await home.host.approve("w");
    home.write(path, text);
    await isUnapproved(home);
  }
  const home = await make({
    files: {
      "workspace/hooks/w/HOOK.md": descriptor(),
      "workspace/hooks/w/handler.js": good("good"),
    },
  });
  await home.host.approve("w");
  home.write("workspace/hooks/w/handler.ts", evil("evil"));
  await isUnapproved(home);
});

test("no command evaluates unapproved code", async ({ make }) => {
  g.evil = undefined;
  const home = await make({ files: workspace(evil("evil")) });
  const check = await home.host.check("w");
  assert.is(check.ok, false);
  assert.ok(
    check.problems.some(({ message }) => /not approved, so its code was not run/.test(message)),
  );
  await rejects(() => home.host.run("w", {}), /may not run: its content is not approved/);
  await home.host.enable("w");
  await home.host.reload("w");
  await isUnapproved(home);
});

test("a check without a gateway evaluates nothing that is not approved", async ({ make }) => {
  g.evil = undefined;
  const home = await make({ files: workspace(evil("evil")) });
  writeFileSync(join(home.dir, ".env"), "TRUST=approved\n", { mode: 0o600 });
  for (const trust of ["approved", "${TRUST}", "${UNSET}", "aproved"]) {
    writeFileSync(home.paths.config, JSON.stringify({ hooks: { trust } }));
    for (const name of ["w", join(home.dir, "workspace/hooks/w")]) {
      const { code, stdout } = await porticoHere(home.dir, ["hooks", "check", name]);
      // whom an unknown word trusts is not known: what lies in the workspace may not even be looked for
      assert.equal(
        [code, /its content is not approved/.test(stdout)],
        [1, true],
        `${trust}: ${stdout}`,
      );
    }
  }
  assert.is(g.evil, undefined);
});

test("no command evaluates a plugin of the workspace where a variable, or nothing clear, says who is trusted", async ({
  make,
}) => {
  g.evil = undefined;
  const home = await make({ files: { "workspace/plugins/w/plugin.ts": evil("evil") } });
  writeFileSync(join(home.dir, ".env"), "TRUST=managed\n", { mode: 0o600 });
  for (const trust of ["managed", "${TRUST}", "${UNSET}", "mangaed"]) {
    writeFileSync(home.paths.config, JSON.stringify({ plugins: { trust } }));
    await porticoHere(home.dir, ["hooks", "events"]);
    assert.is(g.evil, undefined, trust);
  }
});

test("every hook that does not run says why, whatever becomes of the others", async ({ make }) => {
  const home = await make({
    files: {
      ...workspace(),
      "hooks/off/HOOK.md": descriptor("enabled: false"),
      "hooks/off/handler.ts": answering("off"),
      "hooks/lacks/HOOK.md": descriptor("requires: { env: [NO_SUCH_VARIABLE] }"),
      "hooks/lacks/handler.ts": answering("lacks"),
      "hooks/open/HOOK.md": descriptor(),
      "hooks/open/handler.ts": answering("open"),
      "hooks/a/HOOK.md": descriptor(),
      "hooks/a/handler.ts": "export default () => {};",
    },
  });
  chmodSync(join(home.dir, "hooks/open"), 0o777);
  await home.host.rescan();
  const states = () =>
    ["w", "off", "lacks", "open"].map((name) => [
      home.host.info(name).state,
      home.host.info(name).error,
    ]);
  const before = states();
  assert.equal(
    before.map(([state]) => state),
    ["unapproved", "disabled", "ineligible", "refused"],
  );
  home.write("hooks/a/handler.ts", "export default () => undefined;");
  await home.host.rescan([join(home.dir, "hooks/a")]);
  assert.equal(states(), before);
  await rejects(() => home.host.run("w", {}), /not approved/);
});

test("a check says what a hook requires and lacks", async ({ make }) => {
  const home = await make({
    files: {
      "hooks/a/HOOK.md": descriptor("requires: { env: [NO_SUCH_VARIABLE] }"),
      "hooks/a/handler.ts": answering("a"),
    },
  });
  const { ok, problems } = await home.host.check("a");
  assert.is(ok, false);
  assert.match(
    problems[0]?.message ?? "",
    /cannot run here: the environment variable NO_SUCH_VARIABLE is not set/,
  );
  assert.is(problems[0]?.line, 3);
});

test("files of another user do not run, not even for root", async ({ make }) => {
  if (process.getuid?.() !== 0) return;
  const files = {
    "hooks/a/HOOK.md": descriptor(),
    "hooks/a/handler.ts": 'import { x } from "./lib/x.ts";\nexport default () => ({ reply: x });',
    "hooks/a/lib/x.ts": 'export const x = "ran";',
  };
  for (const path of [
    "hooks",
    "hooks/a",
    "hooks/a/HOOK.md",
    "hooks/a/handler.ts",
    "hooks/a/lib",
    "hooks/a/lib/x.ts",
  ]) {
    const home = await make({ files });
    assert.is((await home.ask("q")).reply, "ran");
    chownSync(join(home.dir, path), 4321, 4321);
    await home.host.rescan();
    assert.is(home.host.info("a").state, "refused", path);
    assert.match(home.host.info("a").error ?? "", /belongs to user 4321/);
    assert.is((await home.ask("q")).reply, undefined, path);
  }
});

test("a package that belongs to another user is not required", async ({ make }) => {
  if (process.getuid?.() !== 0) return;
  const home = await make({
    files: {
      "hooks/a/HOOK.md": descriptor(),
      "hooks/a/handler.ts":
        'import dep from "dep";\nexport default () => ({ reply: String(dep) });',
      "hooks/node_modules/dep/index.js": "module.exports = 'dep';",
    },
  });
  assert.is((await home.ask("q")).reply, "dep");
  // whoever owns a directory on the way can put another package there
  for (const path of [
    "hooks/node_modules",
    "hooks/node_modules/dep",
    "hooks/node_modules/dep/index.js",
  ]) {
    chownSync(join(home.dir, path), 4321, 4321);
    await home.host.reload("a");
    assert.match(home.host.info("a").error ?? "", `${path} belongs to user`);
    chownSync(join(home.dir, path), 0, 0);
    await home.host.reload("a");
    assert.is(home.host.info("a").error, undefined);
  }
});

test("code of another user's beside a hook does not run, though it is required only while the hook runs", async ({
  make,
}) => {
  if (process.getuid?.() !== 0) return;
  const home = await make({
    files: {
      "hooks/a/HOOK.md": descriptor(),
      "hooks/a/handler.ts": `import { createRequire } from "node:module";
        export default () => ({ reply: createRequire(import.meta.url)("./lib/later.cjs") });`,
      "hooks/a/lib/later.cjs": "module.exports = 'later';",
      "hooks/a/notes.txt": "may be anybody's",
    },
  });
  chownSync(join(home.dir, "hooks/a/notes.txt"), 4321, 4321);
  await home.host.rescan();
  assert.is((await home.ask("q")).reply, "later");
  for (const path of ["lib", "lib/later.cjs"]) {
    chownSync(join(home.dir, "hooks/a", path), 4321, 4321);
    await home.host.rescan();
    assert.match(home.host.info("a").error ?? "", `${path} belongs to user`);
    assert.is((await home.ask("q")).reply, undefined);
    chownSync(join(home.dir, "hooks/a", path), 0, 0);
  }
});

test("top-level await is refused with its place, in every kind of file", async ({ make }) => {
  for (const name of ["handler.ts", "handler.mts", "handler.js", "handler.mjs"]) {
    const home = await make({
      files: {
        "hooks/a/HOOK.md": descriptor(),
        [`hooks/a/${name}`]: "const x = 1;\nawait Promise.resolve(x);\nexport default () => {};\n",
      },
    });
    const { state, error, line, file } = home.host.info("a");
    assert.is(state, "failed", name);
    assert.match(error ?? "", new RegExp(`^${name}:2:1: top-level await is not supported here`));
    assert.equal([line, file], [2, join(home.dir, "hooks/a", name)]);
  }
});

test("a root that is exchanged for another user's is refused", async ({ make }) => {
  if (process.getuid?.() !== 0) return;
  const home = await make({
    files: { "hooks/a/HOOK.md": descriptor(), "hooks/a/handler.ts": answering("mine") },
  });
  renameSync(join(home.dir, "hooks"), join(home.dir, "before"));
  home.write("hooks/a/HOOK.md", descriptor());
  home.write("hooks/a/handler.ts", answering("theirs"));
  chownSync(join(home.dir, "hooks"), 4321, 4321);
  await home.host.rescan();
  assert.is((await home.ask("q")).reply, undefined);
  assert.is(readFileSync(join(home.dir, "before/a/handler.ts"), "utf8"), answering("mine"));
});

test("a hook that fails closed refuses its event while it fails, hangs, has tripped or cannot be loaded", async ({
  make,
}) => {
  const home = await make({
    files: {
      "hooks/guard/HOOK.md": descriptor("failClosed: true"),
      "hooks/guard/handler.ts": "export default () => {};",
      "hooks/low/HOOK.md": descriptor("priority: -1"),
      "hooks/low/handler.ts": answering("passed"),
    },
  });
  const passes = async () =>
    assert.equal(
      [(await home.ask("q")).refusal, (await home.ask("q")).reply],
      [undefined, "passed"],
    );
  const isRefused = async () => {
    const { refusal, reply } = await home.ask("q");
    assert.equal([refusal?.code, refusal?.status, reply], ["hook_unavailable", 503, undefined]);
  };
  const save = async (handler: string, more = "") => {
    home.write("hooks/guard/handler.ts", handler);
    home.write("hooks/guard/HOOK.md", descriptor(`failClosed: true\n${more}`));
    await home.host.rescan();
  };
  await passes();
  await save("export default () => { throw new Error('x'); };");
  for (let count = 0; count < 7; count++) await isRefused();
  assert.is(home.host.info("guard").state, "resting");
  await isRefused();
  await save("export default () => new Promise(() => {});", "timeoutMs: 30");
  await isRefused();
  await save("export default () => {};");
  await passes();
  await save("export default (");
  assert.is(home.host.info("guard").state, "stale");
  await passes();

  // Without an old version, what cannot be loaded counts as failing.
  await home.host.disable("guard");
  await passes();
  await home.host.enable("guard");
  assert.is(home.host.info("guard").state, "failed");
  await isRefused();
  home.write("hooks/guard/HOOK.md", "---\nevents: [\n---\n");
  await home.host.rescan();
  await isRefused();
  chmodSync(join(home.dir, "hooks/guard"), 0o777);
  await home.host.rescan();
  assert.is(home.host.info("guard").state, "refused");
  await isRefused();
  chmodSync(join(home.dir, "hooks/guard"), 0o755);
  await save("export default () => {};");
  await passes();
  await save("export default (");
  home.remove("hooks/guard");
  await home.host.rescan();
  await passes();
});

test("at a cold start, what speaks of failing closed and cannot be read or is unsafe refuses what it names", async ({
  make,
}) => {
  const front = (text: string) => `---\n${text}\n---\n`;
  const closed: [text: string, mode?: number][] = [
    [front("events: [test:asked\nfailClosed: true")],
    ["---\nevents: [test:asked]\nfailClosed: true\n"],
    ["events: [test:asked]\nfailClosed: true\n---\n"],
    [front("events: [test:asked]\nfailClosed: true\ntimeoutMs: soon")],
    [front("events: [test:asked]\nfailClosed: yes")],
    [front("event: test:asked\n'failClosed':\ttrue")],
    [front('metadata: {"x":{"events":["test:asked"],"failClosed":true}')],
    [descriptor("failClosed: true"), 0o666],
  ];
  const open = ["failClosed: false", "failClosed:   false", "# failClosed: true", "description: x"];
  const ask = async (text: string, mode = 0o644) => {
    const home = await make({
      files: {
        "hooks/low/HOOK.md": descriptor("priority: -1"),
        "hooks/low/handler.ts": answering("low"),
      },
    });
    home.write("hooks/guard/HOOK.md", text);
    home.write("hooks/guard/handler.ts", "export default () => {};");
    chmodSync(join(home.dir, "hooks/guard/handler.ts"), mode);
    await home.host.rescan();
    const { refusal, reply } = await home.ask("q");
    return refusal?.code ?? reply;
  };
  for (const [text, mode] of closed) assert.is(await ask(text, mode), "hook_unavailable", text);
  for (const line of open) assert.is(await ask(front(`events: [test:asked\n${line}`)), "low", line);
});

test("a hook that fails closed reports events on which that has no effect", async ({ make }) => {
  const home = await make({
    files: {
      "hooks/a/HOOK.md": descriptor("failClosed: true", "test:noticed"),
      "hooks/a/handler.ts": answering("a"),
    },
  });
  const { ok, warnings } = await home.host.check("a");
  assert.ok(ok);
  assert.match(warnings[0] ?? "", /failClosed has no effect on test:noticed/);
});

test.run();
