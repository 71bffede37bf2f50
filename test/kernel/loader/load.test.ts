import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { suite } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import { Loader } from "../../../kernel/loader/load.ts";
import { LoadError, toProblem } from "../../../kernel/loader/problem.ts";
import { loaderFor } from "../../../kernel/package-loader.ts";
import { temporaryDir } from "../../support/temporary.ts";

const test = suite("loader");
let dir = "";

test.before.each(() => {
  dir = temporaryDir("portico-load-");
});

const cached = {
  host: async () => ({ answer: 42 }),
  cacheFile: () => join(dir, "cache/handler.cjs"),
};
const loader = () => new Loader(cached);

function write(files: Record<string, string>): string {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(dir, name)), { recursive: true });
    writeFileSync(join(dir, name), text);
  }
  return join(dir, "handler.ts");
}

test("TypeScript with imports, JSON, packages of its own and the host's module", async () => {
  const entry = write({
    "handler.ts": `
      import { answer } from "portico";
      import { twice } from "./lib/twice.js";
      import data from "./data.json";
      import dep from "dep";
      enum Kind { A = "a" }
      export default () => [answer, twice(2), data.n, dep.name, Kind.A, import.meta.dirname];`,
    "lib/twice.ts": "export const twice = (n: number): number => n * 2;",
    "data.json": '{"n": 7}',
    "node_modules/dep/package.json": '{"name":"dep","main":"index.js"}',
    "node_modules/dep/index.js": "module.exports = { name: 'dep' };",
  });
  const { exports, inputs } = await loader().load(entry);
  assert.equal((exports["default"] as () => unknown)(), [42, 4, 7, "dep", "a", dir]);
  assert.equal(inputs.map((input) => input.slice(dir.length + 1)).sort(), [
    "data.json",
    "handler.ts",
    "lib/twice.ts",
  ]);
});

test("a module loads whatever its path contains, and its errors are reported with file and line", async () => {
  for (const odd of ["a (1)", "100%", "a%20b#c", "a:1:2", "ü ñ", "[x] {y} *?", "a'b\"c"]) {
    const entry = write({
      [`${odd}/handler.ts`]: 'import { boom } from "./boom.ts";\nexport default () => boom();',
      [`${odd}/boom.ts`]: "\nexport const boom = () => {\n  throw new Error('boom');\n};",
      [`${odd}/broken/handler.ts`]: "\nthrow new Error('not today');",
    }).replace("handler.ts", odd);
    const { exports } = await loader().load(join(entry, "handler.ts"));
    const thrown = await (async () => (exports["default"] as () => unknown)())().catch(
      (error: unknown) => error,
    );
    assert.equal(
      toProblem(thrown, entry),
      { message: "boom", file: join(entry, "boom.ts"), line: 3, column: 9 },
      odd,
    );
    const failure = await loader()
      .load(join(entry, "broken/handler.ts"))
      .catch((error: unknown) => error as LoadError);
    assert.equal(
      [failure instanceof LoadError && failure.message, odd],
      ["handler.ts:2:7: not today", odd],
    );
  }
});

test("the content of a data: URL is part of the file that contains it", async () => {
  const entry = write({
    "handler.ts": `
      import { here } from "data:text/javascript,export const here = 1";
      import list from "data:application/json;base64,WzIsM10=";
      export default () => [here, ...list];`,
  });
  const { exports, inputs } = await loader().load(entry);
  assert.equal((exports["default"] as () => unknown)(), [1, 2, 3]);
  assert.equal(inputs, [entry]);
});

test("letters of any script are accepted at every position", async () => {
  const words = `
      /*! → */
      export default () => [/[一-龥]+/.exec("x漢字")?.[0], /(?<名>[→😀])/u.exec("a😀")?.groups?.名, "→".length, \`é→\`];
      export const raw = String.raw\`→\\n\`;`;
  const entry = write({ "handler.ts": words });
  for (const guarded of [undefined, 1000]) {
    const { exports } = await loader().load(entry, guarded);
    assert.equal((exports["default"] as () => unknown)(), ["漢字", "😀", 1, "é→"]);
    assert.is(exports["raw"], "→\\n");
  }
  const own = new Loader({
    host: async () => ({}),
    cacheFile: () => join(dir, "cache/own.cjs"),
    isOwn: () => true,
  });
  for (const _ of ["built", "kept"]) {
    const { exports } = await own.load(entry);
    assert.equal((exports["default"] as () => unknown)(), ["漢字", "😀", 1, "é→"]);
  }
});

test("the usual ways to determine a module's own directory work", async () => {
  const entry = write({
    "handler.ts": `
      import { dirname } from "node:path";
      import { fileURLToPath } from "node:url";
      const __filename = fileURLToPath(import.meta.url);
      const __dirname = dirname(__filename);
      export default [__filename, __dirname, import.meta.filename, import.meta.dirname];`,
  });
  assert.equal((await loader().load(entry)).exports["default"], [entry, dir, entry, dir]);
});

test("import.meta.resolve works as in Node", async () => {
  const entry = write({
    "handler.ts": `
      import { place } from "./lib/place.ts";
      const resolve = (specifier: string) => import.meta.resolve(specifier);
      export default [place, ...["./data.txt", "../up.txt", "/abs/x.txt", "node:fs", "fs", "https://a.example/x", "lib-of-tests"].map(resolve)];`,
    "lib/place.ts": `export const place = [import.meta.url, import.meta.dirname, import.meta.resolve("./data.txt")];`,
  });
  const at = (path: string) => pathToFileURL(join(dir, path)).href;
  mkdirSync(join(dir, "node_modules/lib-of-tests"), { recursive: true });
  writeFileSync(join(dir, "node_modules/lib-of-tests/index.js"), "");
  const [place, ...specifiers] = (await loader().load(entry)).exports["default"] as unknown[];
  assert.equal(place, [at("lib/place.ts"), join(dir, "lib"), at("lib/data.txt")]);
  assert.equal(specifiers, [
    at("data.txt"),
    at("../up.txt"),
    "file:///abs/x.txt",
    "node:fs",
    "node:fs",
    "https://a.example/x",
    at("node_modules/lib-of-tests/index.js"),
  ]);
});

test("a change of anything imported is a new version, an untouched one is not", async () => {
  const entry = write({
    "handler.ts": `export { n as default } from "./n.ts";`,
    "n.ts": "export const n = 1;",
  });
  const own = loader();
  const first = await own.load(entry);
  const again = await own.load(entry);
  assert.is(again.hash, first.hash);
  write({ "n.ts": "export const n = 2;" });
  const second = await own.load(entry);
  assert.is(second.exports["default"], 2);
  assert.is.not(second.hash, first.hash);
});

test("a refreshed bundle is not built again for the next reader, as long as it is unchanged", async () => {
  const entry = write({ "handler.ts": "export default 1;" });
  const source = await loader().read(entry, { guarded: true });
  const ctime = () => {
    const { ctimeNs } = statSync(join(dir, "cache/handler.guarded.cjs"), { bigint: true });
    return ctimeNs;
  };
  write({ "handler.ts": "export default 2;" });
  await source.refresh();
  const refreshed = ctime();
  const next = await loader().read(entry, { guarded: true });
  assert.match(next.bundle.code, /\b2\b/);
  assert.is(ctime(), refreshed);
  write({ "handler.ts": "export default (" });
  assert.instance(await source.refresh().catch((error: unknown) => error), LoadError);
  write({ "handler.ts": "export default 3;" });
  assert.match((await loader().read(entry, { guarded: true })).bundle.code, /\b3\b/);
});

test("the cache serves another loader and is not trusted when torn", async () => {
  const entry = write({ "handler.ts": "export default 1;" });
  const own = () => new Loader({ ...cached, isOwn: () => true });
  for (const making of [loader, own]) {
    rmSync(join(dir, "cache"), { recursive: true, force: true });
    await making().load(entry);
    const [file] = readdirSync(join(dir, "cache")).filter((name) => name.endsWith(".cjs"));
    const bundlePath = join(dir, "cache", file as string);
    const whole = readFileSync(bundlePath);
    for (const torn of [
      "",
      "//{ torn",
      whole.subarray(0, -1),
      whole.subarray(0, whole.indexOf("\n") + 1),
    ]) {
      writeFileSync(bundlePath, torn);
      assert.is((await making().load(entry)).exports["default"], 1);
    }
  }
});

test("an error of a package's own bundle names the file", async () => {
  const entry = write({ "handler.ts": "\n\nexport default () => { throw new Error('later'); };" });
  const { exports } = await new Loader({
    host: async () => ({}),
    cacheFile: () => join(dir, "cache/handler.cjs"),
    isOwn: () => true,
  }).load(entry);
  assert.throws(exports["default"] as () => void, ({ stack }: Error) =>
    /handler\.ts:\d+:\d+/.test(stack ?? ""),
  );
});

test("a syntax error names file, line and column", async () => {
  const entry = write({ "handler.ts": "const a = 1;\nexport default (" });
  const error = await loader()
    .load(entry)
    .catch((thrown) => thrown);
  assert.instance(error, LoadError);
  assert.match(error.message, /^handler\.ts:2:\d+: /);
  assert.is(error.line, 2);
});

test("an error while evaluating names the source line", async () => {
  const entry = write({ "handler.ts": "\n\nthrow new Error('at load');" });
  process.setSourceMapsEnabled(true);
  const error = await loader()
    .load(entry)
    .catch((thrown) => thrown);
  assert.match(error.message, /handler\.ts:3:\d+: at load/);
});

test("top-level await is refused with what to do", async () => {
  const entry = write({ "handler.ts": "await Promise.resolve();\nexport default 1;" });
  const error = await loader()
    .load(entry)
    .catch((thrown) => thrown);
  assert.match(error.message, /top-level await is not supported/);
});

test("a file that cannot be read is reported without a position in the gateway's code", async () => {
  const entry = write({ "handler.ts": 'import "./huge.ts";\nexport default 1;', "huge.ts": "" });
  truncateSync(join(dir, "huge.ts"), 2 ** 32);
  const error = await loader()
    .load(entry)
    .catch((thrown) => thrown);
  assert.instance(error, LoadError);
  assert.match(error.message, /^File size \(4294967296\) is greater than/);
  assert.equal([error.file, error.line], [entry, undefined]);
});

test("a missing import names the place", async () => {
  const entry = write({ "handler.ts": `import "./nowhere.ts";\nexport default 1;` });
  const error = await loader()
    .load(entry)
    .catch((thrown) => thrown);
  assert.match(error.message, /handler\.ts:1:\d+: .*nowhere/);
});

test("a home below the package is its user's: lines are those of its files, and what others may write is refused", async () => {
  const state = join(dir, "home/state");
  const own = loaderFor({ package: dir, state });
  write({
    "home/hooks/a/handler.ts": "interface A {\n  b: 1;\n}\n\nthrow new Error('here');",
    "home/hooks/b/handler.ts": 'import "dep";',
    "home/hooks/b/node_modules/dep/index.js": "",
  });
  const thrown: LoadError = await own
    .load(join(dir, "home/hooks/a/handler.ts"))
    .catch((error) => error);
  assert.is(thrown.message, "handler.ts:5:7: here");
  chmodSync(join(dir, "home/hooks/b/node_modules/dep/index.js"), 0o666);
  const open: LoadError = await own
    .load(join(dir, "home/hooks/b/handler.ts"))
    .catch((error) => error);
  assert.match(open.message, /other users may write/);
  assert.is(readdirSync(join(state, "cache")).length, 2);
});

test.run();
