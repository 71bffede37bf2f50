/** The packed package, as users install it from a tarball. */
import { execFile, execFileSync } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from "node:fs";
import { dirname, extname, join } from "node:path";
import { promisify } from "node:util";
import * as assert from "uvu/assert";
import { packageDir, spawnGateway } from "../support/gateway.ts";
import { suite } from "../support/suite.ts";
import { temporaryDir } from "../support/temporary.ts";

const test = suite("package");
const run = promisify(execFile);
/** The files of libraries that the console loads. */
const LIBRARY_FILES = ["uplot/uPlot.iife.min.js", "uplot/uPlot.min.css", "marked/marked.esm.js"];

/** A copy of the sources, since packing rewrites package.json for a moment. */
function copySources(): string {
  const dir = temporaryDir("portico-sources-");
  const list = ["ls-files", "--cached", "--others", "--exclude-standard", "-z"];
  const files = execFileSync("git", list, { cwd: packageDir, encoding: "utf8" });
  for (const file of files.split("\0").filter((name) => name !== "" && !name.startsWith("test/"))) {
    mkdirSync(dirname(join(dir, file)), { recursive: true });
    cpSync(join(packageDir, file), join(dir, file));
  }
  symlinkSync(join(packageDir, "node_modules"), join(dir, "node_modules"));
  return dir;
}

test("the packed package runs, and holds no script that needs the sources", async () => {
  const sources = copySources();
  const before = readFileSync(join(sources, "package.json"), "utf8");
  const target = temporaryDir("portico-packed-");
  await run("npm", ["pack", "--pack-destination", target], { cwd: sources });
  assert.is(readFileSync(join(sources, "package.json"), "utf8"), before, "package.json is back");
  const [tarball = ""] = readdirSync(target);
  execFileSync("tar", ["-xzf", join(target, tarball), "-C", target]);
  const installed = join(target, "package");
  const manifest = JSON.parse(readFileSync(join(installed, "package.json"), "utf8"));
  assert.equal(Object.keys(manifest.scripts), ["start"]);
  assert.is(manifest.devDependencies, undefined);
  for (const key of ["repository", "homepage", "bugs", "license", "engines", "bin", "exports"])
    assert.ok(manifest[key], key);
  for (const name of ["README.md", "CHANGELOG.md", "SECURITY.md", "LICENSE", "examples", "hooks"])
    assert.ok(readdirSync(installed).includes(name), name);
  symlinkSync(join(packageDir, "node_modules"), join(installed, "node_modules"));
  const { stdout } = await run(process.execPath, [
    join(installed, ".build/portico.cjs"),
    "--version",
  ]);
  assert.is(stdout.trim(), manifest.version);
  await checkConsole(installed);
});

/** Starts the installed gateway and loads the console's files, as a browser does that takes gzip alone. */
async function checkConsole(installed: string): Promise<void> {
  const gateway = await spawnGateway({ program: join(installed, ".build/portico.cjs") });
  try {
    const sources = join(packageDir, "plugins/dashboard/page");
    const names = readdirSync(sources, { recursive: true, encoding: "utf8" });
    let compressed = 0;
    for (const name of [...names.filter((file) => extname(file) !== ""), ...LIBRARY_FILES]) {
      const headers = { "accept-encoding": "gzip" };
      const response = await fetch(`${gateway.url}/dashboard/page/${name}`, { headers });
      assert.is(response.status, 200, name);
      assert.not.match(await response.text(), /\/\*\* [A-Z]|^ {2}[a-z]/m, `${name} is minified`);
      compressed += Number(response.headers.get("content-length"));
    }
    assert.ok(compressed > 50_000 && compressed < 150_000, `${compressed} bytes`);
  } finally {
    await gateway.stop();
  }
}

test.run();
