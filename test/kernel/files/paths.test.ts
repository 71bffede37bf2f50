import { existsSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { test } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import { createHome, resolvePaths } from "../../../kernel/files/paths.ts";
import { temporaryDir } from "../../support/temporary.ts";

const root = temporaryDir("portico-paths-");

test("the home is the option's, then the environment's, then the user's", () => {
  const env = { HOME: "/users/me", PORTICO_HOME: "/env/home", PORTICO_CONFIG: "/env/own.json" };
  assert.is(resolvePaths({ home: "/opt/home" }, env).home, "/opt/home");
  assert.is(resolvePaths({}, env).home, "/env/home");
  assert.is(resolvePaths({}, { HOME: "/users/me" }).home, "/users/me/.portico");
  assert.is(resolvePaths({ config: "/opt/c.json" }, env).config, "/opt/c.json");
  assert.is(resolvePaths({}, env).config, "/env/own.json");
  assert.is(
    resolvePaths({ home: "/opt/home" }, { HOME: "/users/me" }).config,
    "/opt/home/portico.json",
  );
  assert.is(resolvePaths({}, { HOME: "/users/me", PORTICO_HOME: "~/p" }).home, "/users/me/p");
});

test("all other paths are derived from the home", () => {
  const paths = resolvePaths({ home: "rel", workspace: "/w" }, {});
  assert.is(paths.home, resolve("rel"));
  assert.is(paths.state, join(paths.home, "state"));
  assert.is(paths.workspace, "/w");
  assert.is(resolvePaths({ home: "/h" }, {}).workspace, "/h/workspace");
  assert.is(paths.tmp, join(tmpdir(), "portico"));
  assert.ok(existsSync(join(paths.package, "kernel", "index.ts")));
});

test("the home is made for the owner alone, whatever the umask", async () => {
  const before = process.umask(0o002);
  try {
    const paths = resolvePaths({ home: join(root, "deep", "home") }, {});
    await createHome(paths);
    assert.is(statSync(paths.home).mode & 0o777, 0o700);
    for (const name of ["hooks", "plugins", "state", "workspace"])
      assert.ok(statSync(join(paths.home, name)).isDirectory());
    await createHome(paths);
  } finally {
    process.umask(before);
  }
});

test("two processes that start at once create one home", async () => {
  const paths = resolvePaths({ home: join(root, "at", "once") }, {});
  await Promise.all([createHome(paths), createHome(paths)]);
  assert.is(statSync(paths.workspace).mode & 0o777, 0o700);
});

test("an impossible home is reported clearly", async () => {
  writeFileSync(join(root, "file"), "");
  for (const home of [join(root, "file"), join(root, "file", "below")]) {
    try {
      await createHome(resolvePaths({ home }, {}));
      assert.unreachable(home);
    } catch (error) {
      assert.match(
        (error as Error).message,
        /^The home .* cannot be used: .*choose another with --home or PORTICO_HOME\.$/,
      );
    }
  }
});

test.run();
