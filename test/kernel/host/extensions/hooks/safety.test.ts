import { chmodSync, mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { suite } from "../../../../support/suite.ts";
import * as assert from "uvu/assert";
import {
  answering,
  descriptor,
  type HookHome,
  type HookHomeOptions,
  makeHookHome,
  rejects,
} from "./hook-home.ts";
import { untilRight } from "../../../../support/until.ts";

const files = { "hooks/a/HOOK.md": descriptor(), "hooks/a/handler.ts": answering("managed") };
const workspaceFiles = {
  "workspace/hooks/w/HOOK.md": descriptor(),
  "workspace/hooks/w/handler.ts": answering("workspace"),
};

const test = suite<{ make: (options?: HookHomeOptions) => Promise<HookHome>; made: HookHome[] }>(
  "hook safety",
);
test.before.each((context) => {
  context.made = [];
  context.make = async (options) => {
    const home = await makeHookHome(options);
    context.made.push(home);
    return home;
  };
});
test.after.each(async (context) => {
  for (const home of context.made) await home.stop();
});

test("files that others may write are refused, with the reason", async ({ make }) => {
  const home = await make({ files: { ...files, "hooks/a/lib/x.ts": "export const x = 1;" } });
  const root = join(home.dir, "hooks/a");
  const cases: [string, number, number][] = [
    [root, 0o777, 0o755],
    [join(root, "handler.ts"), 0o664, 0o644],
    [join(root, "HOOK.md"), 0o646, 0o644],
  ];
  for (const [path, open, shut] of cases) {
    chmodSync(path, open);
    await home.host.rescan();
    const refused = home.host.info("a");
    assert.is(refused.state, "refused", path);
    assert.match(refused.error ?? "", /other users may write .*chmod/);
    assert.is((await home.ask("q")).reply, undefined);
    chmodSync(path, shut);
    await home.host.rescan();
    assert.is((await home.ask("q")).reply, "managed");
  }
});

test("files that the handler imports are checked too", async ({ make }) => {
  const home = await make({
    files: {
      ...files,
      "hooks/a/lib/x.ts": 'export const x = "x";',
      "hooks/a/handler.ts": 'import { x } from "./lib/x.ts";\nexport default () => ({ reply: x });',
    },
  });
  assert.is((await home.ask("q")).reply, "x");
  chmodSync(join(home.dir, "hooks/a/lib"), 0o777);
  await home.host.rescan();
  assert.is(home.host.info("a").state, "refused");
  assert.is((await home.ask("q")).reply, undefined);
});

test("a real path that leaves the root is refused: directory, handler, descriptor, any file in it", async ({
  make,
}) => {
  const home = await make({
    files: {
      "elsewhere/HOOK.md": descriptor(),
      "elsewhere/handler.ts": answering("escaped"),
      "elsewhere/x.ts": "export const x = 1;",
    },
  });
  mkdirSync(join(home.dir, "hooks/handler"), { recursive: true });
  mkdirSync(join(home.dir, "hooks/descriptor"));
  symlinkSync(join(home.dir, "elsewhere"), join(home.dir, "hooks/directory"));
  home.write("hooks/handler/HOOK.md", descriptor());
  symlinkSync(join(home.dir, "elsewhere/handler.ts"), join(home.dir, "hooks/handler/handler.ts"));
  home.write("hooks/descriptor/handler.ts", answering("x"));
  symlinkSync(join(home.dir, "elsewhere/HOOK.md"), join(home.dir, "hooks/descriptor/HOOK.md"));
  home.write("hooks/file/HOOK.md", descriptor());
  home.write(
    "hooks/file/handler.ts",
    'import { x } from "./x.ts";\nexport default () => ({ reply: String(x) });',
  );
  symlinkSync(join(home.dir, "elsewhere/x.ts"), join(home.dir, "hooks/file/x.ts"));
  await home.host.rescan();
  for (const name of ["directory", "handler", "descriptor", "file"]) {
    const { state, error } = home.host.info(name);
    assert.is(state, "refused", name);
    assert.match(error ?? "", /real path .*is outside/);
  }
  assert.is((await home.ask("q")).reply, undefined);
  await rejects(() => home.host.run("directory", {}), /may not run/);
});

test("a link to nowhere is not a hook", async ({ make }) => {
  const home = await make({ files });
  symlinkSync(join(home.dir, "nowhere"), join(home.dir, "hooks/dangling"));
  await home.host.rescan();
  assert.equal(
    home.host.list().map((hook) => hook.name),
    ["a"],
  );
});

test("a broken override at start does not fall back silently", async ({ make }) => {
  const home = await make({
    files: {
      ...files,
      "workspace/hooks/a/HOOK.md": descriptor(),
      "workspace/hooks/a/handler.ts": "export default (",
    },
  });
  const [failed, below] = home.host.list();
  assert.equal(
    [failed?.state, failed?.root, failed?.shadows?.root],
    ["failed", "workspace", "managed"],
  );
  assert.is(below?.state, "shadowed");
  assert.is((await home.ask("q")).reply, undefined);
  assert.ok(
    home.lines.some((line) =>
      /cannot be loaded: .*it replaces .*hooks\/a, which does not run either/.test(
        String(line["msg"]),
      ),
    ),
  );
  home.remove("workspace/hooks/a");
  await home.host.rescan();
  assert.is((await home.ask("q")).reply, "managed");
});

test("a workspace hook under trust: approved runs only in the content that was approved", async ({
  make,
}) => {
  const home = await make({ files: workspaceFiles, settings: { trust: "approved" } });
  const waits = home.host.info("w");
  assert.is(waits.state, "unapproved");
  assert.match(waits.error ?? "", /portico hooks approve w/);
  assert.is((await home.ask("q")).reply, undefined);
  await rejects(() => home.host.run("w", {}), /may not run/);

  assert.is((await home.host.approve("w")).state, "active");
  assert.is((await home.ask("q")).reply, "workspace");

  home.write("workspace/hooks/w/notes.txt", "any file counts");
  await home.host.rescan();
  assert.is(home.host.info("w").state, "unapproved");
  assert.is((await home.ask("q")).reply, undefined);
  home.remove("workspace/hooks/w/notes.txt");
  await home.host.rescan();
  assert.is((await home.ask("q")).reply, "workspace");
});

test("a file from outside the directory is part of what is approved", async ({ make }) => {
  const home = await make({
    files: {
      "workspace/hooks/w/HOOK.md": descriptor(),
      "workspace/hooks/w/handler.ts":
        'import { x } from "../../shared.ts";\nexport default () => ({ reply: x });',
      "workspace/shared.ts": 'export const x = "one";',
    },
    settings: { trust: "approved" },
  });
  await home.host.approve("w");
  assert.is((await home.ask("q")).reply, "one");
  home.write("workspace/shared.ts", 'export const x = "two";');
  await home.host.rescan();
  assert.is(home.host.info("w").state, "unapproved");
});

test("an unapproved workspace hook replaces nothing", async ({ make }) => {
  const home = await make({
    files: {
      ...files,
      "workspace/hooks/a/HOOK.md": descriptor(),
      "workspace/hooks/a/handler.ts": answering("workspace"),
    },
    settings: { trust: "approved" },
  });
  assert.is((await home.ask("q")).reply, "managed");
  assert.equal(
    home.host.list().map((hook) => hook.state),
    ["active", "unapproved"],
  );
  assert.is((await home.host.approve("a")).root, "workspace");
  assert.is((await home.ask("q")).reply, "workspace");
  await rejects(() => home.host.approve("nobody"), /no hook nobody/);
});

test("managed hooks need no approval", async ({ make }) => {
  const home = await make({ files, settings: { trust: "approved" } });
  assert.is((await home.ask("q")).reply, "managed");
  await rejects(() => home.host.approve("a"), /not a workspace hook/);
});

test("a missing requirement is reported, and noticed once it is met", async ({ make }) => {
  const home = await make({
    files: {
      "hooks/a/HOOK.md": descriptor(
        "requires:\n  bins: [no-such-program-here, sh]\n  anyBins: [no-such-a, no-such-b]\n  env: [MY_KEY]\n  config: [cron.timezone]",
      ),
      "hooks/a/handler.ts": answering("ran"),
      "hooks/os/HOOK.md": descriptor("os: [plan9]\nalways: true"),
      "hooks/os/handler.ts": answering("os"),
      "hooks/always/HOOK.md": descriptor(
        "always: true\nrequires: { bins: [no-such-program-here] }",
      ),
      "hooks/always/handler.ts": answering("always"),
    },
  });
  assert.equal(
    [home.host.info("a").state, home.host.info("os").state, home.host.info("always").state],
    ["ineligible", "ineligible", "active"],
  );
  assert.is(home.host.info("a").missing.length, 4);
  assert.match(
    home.host.info("a").error ?? "",
    /no-such-program-here is not on the PATH.*MY_KEY.*cron\.timezone/,
  );
  home.write(
    "hooks/a/HOOK.md",
    descriptor("priority: 1\nrequires:\n  bins: [sh]\n  env: [MY_KEY]\n  config: [cron.timezone]"),
  );
  home.settings.entries["a"] = { env: { MY_KEY: "x" } };
  home.config["cron.timezone"] = "UTC";
  await home.host.reconfigure(["cron.timezone"]);
  assert.is((await home.ask("q")).reply, "ran");
});

test("hooks.enabled: false stops all hooks, and hooks.extraDirs rank between bundled and managed", async ({
  make,
}) => {
  const home = await make({
    files: {
      "package/hooks/a/HOOK.md": descriptor(),
      "package/hooks/a/handler.ts": answering("bundled"),
      "more/a/HOOK.md": descriptor(),
      "more/a/handler.ts": answering("extra"),
    },
    settings: { extraDirs: ["more"] },
  });
  assert.is((await home.ask("q")).reply, "extra");
  home.write("hooks/a/HOOK.md", descriptor());
  home.write("hooks/a/handler.ts", answering("managed"));
  await home.host.rescan();
  assert.is((await home.ask("q")).reply, "managed");
  assert.equal(
    home.host.list().map((hook) => hook.root),
    ["managed", "extra", "bundled"],
  );
  home.settings.enabled = false;
  await home.host.reconfigure(["hooks.enabled"]);
  assert.is((await home.ask("q")).reply, undefined);
  const { state, error, reason } = home.host.info("a");
  assert.equal(
    [state, error, reason],
    ["disabled", undefined, "hooks.enabled is false in the configuration"],
  );
});

test("extra directories that are added while it runs are watched", async ({ make }) => {
  const home = await make();
  await home.host.watching();
  home.settings.extraDirs.push("more");
  await home.host.reconfigure(["hooks.extraDirs"]);
  home.write("more/x/handler.ts", answering("x"));
  home.write("more/x/HOOK.md", descriptor());
  await untilRight(
    async () => (await home.ask("q")).reply,
    (reply) => reply === "x",
  );
});

test.run();
