import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { suite } from "../../../support/suite.ts";
import * as assert from "uvu/assert";
import {
  type Watch,
  type WatchOptions,
  watchRoots,
} from "../../../../kernel/host/extensions/watch.ts";
import { createLog } from "../../../../kernel/log/log.ts";
import { PATIENCE_MS } from "../../../support/until.ts";

interface Watched {
  base: string;
  root: string;
  reports: string[][];
  watch?: Watch;
  open(options?: Partial<WatchOptions>): Promise<void>;
  /** Resolves with the report after `act`; an empty list stands for "everything". */
  after(act: () => void): Promise<string[]>;
  /** Repeats `act` until that directory is reported, since a new watcher reports "everything" once it is set up. */
  until(act: () => void, dir: string): Promise<void>;
}

const test = suite<Watched>("watch");
test.before.each((context) => {
  context.base = mkdtempSync(join(tmpdir(), "portico-watch-"));
  context.root = join(context.base, "root");
  context.reports = [];
  let waiting: ((dirs: string[]) => void) | undefined;
  context.open = async (options) => {
    const { reports } = context;
    context.watch = watchRoots({
      roots: [context.root],
      log: createLog().log,
      onDirty: (dirs) => {
        reports.push([...dirs]);
        waiting?.([...dirs]);
      },
      ...options,
    });
    await context.watch.ready;
    // The rescan that follows the opening.
    if (existsSync(context.root)) await context.after(() => {});
    reports.length = 0;
  };
  context.after = (act) =>
    new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error("nothing was reported")), PATIENCE_MS);
      waiting = (dirs) => {
        clearTimeout(timer);
        waiting = undefined;
        resolve(dirs);
      };
      act();
    });
  context.until = async (act, dir) => {
    const end = Date.now() + PATIENCE_MS;
    for (;;) {
      const dirs = await context.after(act);
      if (dirs.length === 1 && dirs[0] === dir) return;
      if (Date.now() > end) throw new Error(`reported ${JSON.stringify(dirs)}, not ${dir}`);
    }
  };
});
test.after.each((context) => {
  context.watch?.close();
  rmSync(context.base, { recursive: true, force: true });
});

const put = (...parts: string[]) => writeFileSync(join(...parts), String(Math.random()));

test("the directory of a changed file is reported at any depth", async ({ root, open, after }) => {
  mkdirSync(join(root, "a/lib"), { recursive: true });
  put(root, "a/lib/x.ts");
  await open();
  assert.equal(await after(() => put(root, "a/lib/x.ts")), [join(root, "a")]);
});

test("many changes within a moment are reported once", async ({ root, open, after, reports }) => {
  mkdirSync(join(root, "a"), { recursive: true });
  mkdirSync(join(root, "b"));
  await open();
  const dirs = await after(() => {
    for (let n = 0; n < 50; n++) put(root, n % 2 ? "a" : "b", `${n}.ts`);
  });
  assert.equal(dirs.sort(), [join(root, "a"), join(root, "b")]);
  assert.ok(reports.length <= 2, `reported ${reports.length} times`);
});

test("paths that may have changed are reported ahead, except when all may have changed", async ({
  root,
  open,
  after,
  until,
}) => {
  mkdirSync(join(root, "a"), { recursive: true });
  const ahead: string[][] = [];
  await open({ rescanMs: 100, onFirst: (dirs) => ahead.push([...dirs]) });
  ahead.length = 0;
  assert.equal(await after(() => {}), []);
  assert.equal(ahead, []);
  await until(() => put(root, "a/x.ts"), join(root, "a"));
  assert.equal(ahead[0], [join(root, "a")]);
});

test("a change before a large root is watched, and after the wait for it, is reported", async (context) => {
  for (let n = 0; n < 400; n++) {
    mkdirSync(join(context.root, `${n}/lib`), { recursive: true });
    for (const name of ["x", "y", "z"]) put(context.root, `${n}/lib/${name}.ts`);
  }
  await context.open({ readyMs: 1, rescanMs: 3_600_000 });
  await context.after(() => put(context.root, "399/lib/z.ts"));
});

test("unending changes are reported within the cap", async ({ root, open, after }) => {
  mkdirSync(join(root, "a"), { recursive: true });
  await open({ quietMs: 100, capMs: 200 });
  let timer: NodeJS.Timeout | undefined;
  await after(() => {
    timer = setInterval(() => put(root, "a/x.ts"), 10);
  });
  clearInterval(timer);
});

test("node_modules and .git are not watched, but a root below node_modules is", async (context) => {
  context.root = join(context.base, "node_modules/pkg/hooks");
  mkdirSync(join(context.root, "a"), { recursive: true });
  mkdirSync(join(context.root, "b/node_modules/dep"), { recursive: true });
  mkdirSync(join(context.root, "b/.git"));
  await context.open();
  const dirs = await context.after(() => {
    put(context.root, "b/node_modules/dep/x.js");
    put(context.root, "b/.git/x");
    put(context.root, "a/x.ts");
  });
  assert.equal(dirs, [join(context.root, "a")]);
});

test("a root that is created later, several levels down, is watched", async (context) => {
  context.root = join(context.base, "one/two/root");
  await context.open();
  await context.after(() => mkdirSync(join(context.root, "a"), { recursive: true }));
  await context.until(() => put(context.root, "a/x.ts"), join(context.root, "a"));
});

test("a root that is removed, created again, and replaced is watched", async ({
  root,
  base,
  open,
  after,
  until,
}) => {
  mkdirSync(join(root, "a"), { recursive: true });
  await open();
  await after(() => rmSync(root, { recursive: true }));
  await after(() => mkdirSync(join(root, "a"), { recursive: true }));
  await until(() => put(root, "a/x.ts"), join(root, "a"));
  mkdirSync(join(base, "next/b"), { recursive: true });
  await after(() => {
    renameSync(root, join(base, "previous"));
    renameSync(join(base, "next"), root);
  });
  await until(() => put(root, "b/x.ts"), join(root, "b"));
});

test("a missing root whose parent is created again is watched", async (context) => {
  const parent = join(context.base, "one");
  context.root = join(parent, "root");
  mkdirSync(parent);
  await context.open({ rescanMs: 3_600_000 });
  await context.after(() => {
    rmSync(parent, { recursive: true });
    mkdirSync(parent);
  });
  await context.after(() => mkdirSync(join(context.root, "a"), { recursive: true }));
  await context.until(() => put(context.root, "a/x.ts"), join(context.root, "a"));
});

test("a root and a directory below it that are recreated at once are watched", async ({
  root,
  open,
  after,
  until,
}) => {
  mkdirSync(join(root, "a"), { recursive: true });
  await open();
  for (const dir of [join(root, "a"), root]) {
    // The file system gives a new directory the number of one that has just gone.
    await after(() => {
      rmSync(dir, { recursive: true });
      mkdirSync(join(root, "a"), { recursive: true });
    });
    for (let n = 0; n < 3; n++) await until(() => put(root, "a/x.ts"), join(root, "a"));
  }
});

test("a renamed directory, and two that change places, are reported", async ({
  root,
  open,
  after,
  until,
}) => {
  mkdirSync(join(root, "a/lib"), { recursive: true });
  await open();
  const rename = (from: string, to: string) => renameSync(join(root, from), join(root, to));
  await after(() => rename("a", "b"));
  for (let n = 0; n < 2; n++) await until(() => put(root, "b/lib/x.ts"), join(root, "b"));
  await after(() => mkdirSync(join(root, "a/lib"), { recursive: true }));
  await after(() => {
    rename("a", "c");
    rename("b", "a");
    rename("c", "b");
  });
  for (const name of ["a", "b", "a"])
    await until(() => put(root, name, "lib/x.ts"), join(root, name));
});

test("edits behind a linked directory, and a changed link, are reported", async ({
  root,
  base,
  open,
  after,
  until,
}) => {
  mkdirSync(root);
  mkdirSync(join(base, "v1"));
  mkdirSync(join(base, "v2"));
  put(base, "v1/x.ts");
  symlinkSync(join(base, "v1"), join(root, "link"));
  await open();
  assert.equal(await after(() => put(base, "v1/x.ts")), [join(root, "link")]);
  await after(() => {
    symlinkSync(join(base, "v2"), join(root, "link.new"));
    renameSync(join(root, "link.new"), join(root, "link"));
  });
  await until(() => put(base, "v2/x.ts"), join(root, "link"));
});

test("a link to itself does no harm", async ({ root, open, until }) => {
  mkdirSync(join(root, "a"), { recursive: true });
  symlinkSync("loop", join(root, "loop"));
  await open();
  await until(() => put(root, "a/x.ts"), join(root, "a"));
});

test("a rescan happens without a notification", async ({ root, open, after }) => {
  mkdirSync(root);
  await open({ rescanMs: 100 });
  assert.equal(await after(() => {}), []);
});

test("nothing is reported after closing", async (context) => {
  mkdirSync(join(context.root, "a"), { recursive: true });
  await context.open();
  const { watch: first, reports } = context;
  context.reports = [];
  // It was opened later, so its report comes later than the first one's would.
  await context.open();
  const second = context.after(() => put(context.root, "a/x.ts"));
  first?.close();
  assert.equal(await second, [join(context.root, "a")]);
  assert.equal(reports, []);
});

test.run();
