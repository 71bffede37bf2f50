import { spawnSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { createProtection } from "../../../../kernel/host/extensions/protection.ts";
import { suite } from "../../../support/suite.ts";
import * as assert from "uvu/assert";
import {
  checkUpload,
  confinedPath,
  ensureTmpRoot,
  openConfined,
  writeConfined,
} from "../../../../plugins/browser/files/confine.ts";
import { temporaryDir } from "../../../support/temporary.ts";

const test = suite<{ base: string; root: string; outside: string }>("confine");

test.before.each((at) => {
  at.base = temporaryDir("portico-confine-");
  at.root = join(at.base, "root");
  at.outside = join(at.base, "outside");
  mkdirSync(at.root);
  mkdirSync(at.outside);
});

async function refused(work: Promise<unknown>): Promise<string> {
  try {
    await work;
  } catch (error) {
    const { code, param, message } = error as { code?: string; param?: string; message: string };
    assert.is(code, "invalid_request_error", message);
    assert.is(param, "path");
    return message;
  }
  throw new Error("was let through");
}

test("a path may be relative to the root or absolute inside it", async ({ root }) => {
  assert.is(await writeConfined(root, "a.txt", "1"), join(root, "a.txt"));
  assert.is(
    await writeConfined(root, join(root, "deep/er/b.txt"), "2"),
    join(root, "deep/er/b.txt"),
  );
  assert.is(readFileSync(join(root, "deep/er/b.txt"), "utf8"), "2");
  assert.is(statSync(join(root, "a.txt")).mode & 0o777, 0o600);
  await writeConfined(root, "a.txt", "3");
  assert.is(readFileSync(join(root, "a.txt"), "utf8"), "3");
  assert.equal(readdirSync(root).sort(), ["a.txt", "deep"], "no temporary file stays");
});

test("a name or path that no file system holds is refused, by bytes", async ({ root }) => {
  assert.is(await writeConfined(root, "ü".repeat(127), "1"), join(root, "ü".repeat(127)));
  for (const path of [
    "x".repeat(256),
    "ü".repeat(128),
    `${"y".repeat(300)}/a`,
    "deep/".repeat(2000),
  ])
    assert.match(await refused(writeConfined(root, path, "1")), "bytes");
  assert.equal(readdirSync(root), ["ü".repeat(127)]);
});

test("a path outside is refused", async ({ root, outside }) => {
  for (const path of [
    "../x",
    "a/../../x",
    "..",
    ".",
    "",
    "/etc/passwd",
    join(outside, "x"),
    `${root}x/y`,
    "a\0b",
    "a/..",
    "..\\x",
    root,
  ]) {
    await refused(confinedPath(root, path));
  }
  assert.not(existsSync(join(outside, "x")));
});

test("links are not followed, in the middle or at the end", async ({ root, outside }) => {
  symlinkSync(outside, join(root, "dir"));
  writeFileSync(join(outside, "victim"), "old");
  symlinkSync(join(outside, "victim"), join(root, "file"));
  symlinkSync(join(outside, "none"), join(root, "dangling"));
  for (const path of ["dir/x", "dir/new/x", "file", "dangling"])
    await refused(writeConfined(root, path, "new"));
  assert.is(readFileSync(join(outside, "victim"), "utf8"), "old");
  assert.equal(readdirSync(outside), ["victim"]);
});

test("a link that appears between open and commit is replaced, not followed", async ({
  root,
  outside,
}) => {
  writeFileSync(join(outside, "victim"), "old");
  const file = await openConfined(root, "out");
  await file.handle.writeFile("new");
  symlinkSync(join(outside, "victim"), join(root, "out"));
  await file.commit();
  assert.is(readFileSync(join(outside, "victim"), "utf8"), "old");
  assert.not(lstatSync(join(root, "out")).isSymbolicLink());
  assert.is(readFileSync(join(root, "out"), "utf8"), "new");
});

test("a discarded file leaves nothing", async ({ root }) => {
  const file = await openConfined(root, "out");
  await file.handle.writeFile("half");
  await file.discard();
  await file.discard();
  assert.equal(readdirSync(root), []);
});

test("uploads: regular files with one name only", async ({ root, outside }) => {
  writeFileSync(join(root, "ok.txt"), "x");
  assert.is(await checkUpload(root, "ok.txt"), join(root, "ok.txt"));
  assert.is(await checkUpload(root, join(root, "ok.txt")), join(root, "ok.txt"));
  symlinkSync(join(root, "ok.txt"), join(root, "inner"));
  assert.is(
    await checkUpload(root, "inner"),
    join(root, "ok.txt"),
    "a link inside leads to the file itself",
  );
  writeFileSync(join(outside, "secret"), "s");
  symlinkSync(join(outside, "secret"), join(root, "link"));
  symlinkSync(outside, join(root, "dir"));
  linkSync(join(outside, "secret"), join(root, "hard"));
  mkdirSync(join(root, "folder"));
  for (const path of [
    "link",
    "dir/secret",
    "hard",
    "folder",
    "missing",
    "../outside/secret",
    join(outside, "secret"),
    "/etc/hostname",
  ]) {
    assert.match(await refused(checkUpload(root, path)), "<tmp>/portico/uploads");
  }
  const error = await checkUpload(root, "missing", "paths[1]").catch((error) => error);
  assert.is(error.param, "paths[1]");
});

test("a fifo is refused without waiting for its other end", async ({ root }) => {
  if (spawnSync("mkfifo", [join(root, "pipe")]).status !== 0)
    throw new Error("mkfifo is needed for this test");
  await refused(checkUpload(root, "pipe"));
});

test("the temporary root is private, and the root of another user is not used", async ({
  base,
  outside,
}) => {
  const path = join(base, "tmp", "portico");
  assert.equal(await ensureTmpRoot(path), { path, fallback: false });
  assert.is(statSync(path).mode & 0o777, 0o700);
  chmodSync(path, 0o777);
  assert.equal(await ensureTmpRoot(path), { path, fallback: false });
  assert.is(statSync(path).mode & 0o777, 0o700);
  const linked = join(base, "linked");
  symlinkSync(outside, linked);
  const other = await ensureTmpRoot(linked);
  assert.ok(other.fallback);
  assert.ok(other.path.startsWith(`${linked}-`));
  assert.is(statSync(other.path).mode & 0o777, 0o700);
});

test("the gateway's own files below the same root are not written", async ({ root }) => {
  const home = join(root, "home");
  const paths = {
    home,
    config: join(home, "portico.json"),
    state: join(home, "state"),
    workspace: join(home, "workspace"),
    tmp: root,
    package: join(root, "package"),
  };
  const whyProtected = createProtection({
    paths,
    extensionRoots: () => [join(paths.workspace, "hooks")],
    evaluated: () => [
      { files: [join(root, "shared", "lib.ts")], imports: [], packages: new Set() },
    ],
  });
  for (const path of [
    "home/portico.json",
    "home/.env",
    "Home/state/x",
    "home/workspace/hooks/a/handler.ts",
    "shared/lib.ts",
    "shared/package.json",
    "package.json",
    "package/kernel/main.ts",
    "node_modules/x/index.js",
  ])
    assert.match(
      await refused(openConfined(root, path, whyProtected)),
      "Files must not be written",
    );
  const file = await openConfined(root, "downloads/page.pdf", whyProtected);
  await file.discard();
});

test.run();
