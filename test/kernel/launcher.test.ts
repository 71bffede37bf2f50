/** The installed program: how it starts, and what it does where it cannot. */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { parse } from "acorn";
import * as assert from "uvu/assert";
import { packageDir } from "../support/gateway.ts";
import { suite } from "../support/suite.ts";
import { temporaryDir } from "../support/temporary.ts";

const test = suite("launcher");
const run = promisify(execFile);
const { version } = JSON.parse(readFileSync(join(packageDir, "package.json"), "utf8"));
/** Takes from root the right to write everywhere, so that a read-only installation is read-only for it too. */
const asOrdinaryUser =
  process.getuid?.() === 0 ? ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] : [];
let dir = "";

test.before(() => {
  dir = temporaryDir("portico-installed-");
  chmodSync(dir, 0o755);
  mkdirSync(join(dir, ".build"));
  const built = readdirSync(join(packageDir, ".build"), { withFileTypes: true });
  for (const entry of built.filter((file) => file.isFile()))
    cpSync(join(packageDir, ".build", entry.name), join(dir, ".build", entry.name));
  cpSync(join(packageDir, "package.json"), join(dir, "package.json"));
  for (const room of ["plugins", "hooks"])
    cpSync(join(packageDir, room), join(dir, room), { recursive: true });
  symlinkSync(join(packageDir, "node_modules"), join(dir, "node_modules"));
});

async function portico(words: string[], before: string[] = []): Promise<string> {
  const env = { ...process.env, PORTICO_HOME: join(dir, "home") };
  const [command = "", ...args] = [
    ...before,
    process.execPath,
    join(dir, ".build/portico.cjs"),
    ...words,
  ];
  return (await run(command, args, { env })).stdout.trim();
}

test("the built file is executable by itself, as npx runs it in a checkout", async () => {
  const { stdout } = await run(join(packageDir, ".build/portico.cjs"), ["--version"]);
  assert.match(stdout, version);
});

test("an old Node prints the version that Portico needs, and nothing else", async () => {
  const launcher = join(dir, ".build/portico.cjs");
  for (const old of ["0.10.48", "12.22.12", "18.20.4", "20.18.1"]) {
    const pretend = `Object.defineProperty(process.versions, "node", { value: "${old}" });
      Object.defineProperty(process, "version", { value: "v${old}" });
      require(${JSON.stringify(launcher)});`;
    const result = await run(process.execPath, ["-e", pretend]).catch((error) => error);
    assert.is(result.code, 1, old);
    assert.is(result.stderr, `Portico needs Node.js 20.19 or later; this is v${old}.\n`);
    assert.is(result.stdout, "");
  }
});

test("an old Node can parse the launcher's first file", () => {
  const text = readFileSync(join(dir, ".build/portico.cjs"), "utf8");
  assert.not.throws(() => parse(text, { ecmaVersion: 5, allowHashBang: true }));
});

test("a read-only installation runs, and stays as it is", async () => {
  const names = readdirSync(join(dir, ".build"));
  chmodSync(join(dir, ".build"), 0o555);
  assert.is(await portico(["--version"], asOrdinaryUser), version);
  const home = temporaryDir("portico-home-");
  writeFileSync(join(home, "portico.json"), '{ "gateway": { "port": 0 } }', { mode: 0o600 });
  const words = [process.execPath, join(dir, ".build/portico.cjs"), "start", "--home", home];
  const [command = "", ...args] = [...asOrdinaryUser, ...words];
  const gateway = spawn(command, args, { stdio: ["ignore", "pipe", "inherit"] });
  const exit = once(gateway, "exit");
  let output = "";
  let isStopping = false; // a second signal would end it at once
  for await (const text of gateway.stdout.setEncoding("utf8")) {
    output += text;
    if (output.includes("Portico is running") && !isStopping) isStopping = gateway.kill();
  }
  assert.equal(await exit, [0, null], output);
  assert.equal(readdirSync(join(dir, ".build")), names);
  chmodSync(join(dir, ".build"), 0o755);
});

test("Node's compile cache is in the installation where Node has one", async () => {
  const hasCache = "enableCompileCache" in (await import("node:module"));
  await portico(["--version"]);
  assert.is(existsSync(join(dir, ".build/compile-cache")), hasCache);
});

test("the first npx in a clone keeps what is built, since a gateway may run from it", async () => {
  const builtAt = () => statSync(join(packageDir, ".build/portico.cjs")).mtimeMs;
  const before = builtAt();
  const env = { ...process.env, npm_command: "exec", npm_lifecycle_event: "prepare" };
  await run(process.execPath, ["--import", "tsx", ".ci/build.ts"], { cwd: packageDir, env });
  assert.is(builtAt(), before);
});

test.run();
