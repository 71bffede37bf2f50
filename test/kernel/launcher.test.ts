/** What is installed, as far as its sources cannot show it: the program with what the engine made of it. */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
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
import { promisify } from "node:util";
import * as assert from "uvu/assert";
import { packageDir } from "../support/gateway.ts";
import { suite } from "../support/suite.ts";
import { temporaryDir } from "../support/temporary.ts";

const test = suite("launcher");
const run = promisify(execFile);
const { version } = JSON.parse(readFileSync(join(packageDir, "package.json"), "utf8"));
/**
 * Words before the command of whoever may write nothing of it. Root may everything, and gives that up: another user could
 * not read a checkout in root's own home, nor run a Node that is there.
 */
const asStranger =
  process.getuid?.() === 0 ? ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] : [];
let dir = "";
let kept = "";

test.before(() => {
  dir = temporaryDir("portico-installed-");
  chmodSync(dir, 0o755);
  mkdirSync(join(dir, ".build"));
  for (const name of [
    "portico.cjs",
    "program.cjs",
    "command.cjs",
    "command.v8",
    "start.v8",
    "commands.json",
  ])
    copyFileSync(join(packageDir, ".build", name), join(dir, ".build", name));
  copyFileSync(join(packageDir, "package.json"), join(dir, "package.json"));
  for (const room of ["plugins", "hooks"])
    cpSync(join(packageDir, room), join(dir, room), { recursive: true });
  symlinkSync(join(packageDir, "node_modules"), join(dir, "node_modules"));
  kept = join(dir, ".build/command.v8");
});

/** Up to the checksum: which program's it is, and which Node's. */
const headOf = (bytes: Buffer) => /"id":"(.*) \d+"/.exec(bytes.toString("latin1"))?.[1];

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

test("what is kept is taken as it is", async () => {
  const before = readFileSync(kept);
  assert.is(await portico(["--version"]), version);
  assert.equal(readFileSync(kept), before);
});

test("it is a program by itself, as npx runs it in a checkout", async () => {
  const { stdout } = await run(join(packageDir, ".build/portico.cjs"), ["--version"]);
  assert.match(stdout, version);
});

test("a command that needs more than most do has it from the whole program, of which it keeps its own", async () => {
  const own = join(dir, ".build/program.v8");
  assert.not(existsSync(own));
  assert.match(await portico(["channels", "--help"]), /portico channels/);
  const made = readFileSync(own);
  assert.match(await portico(["channels", "--help"]), /portico channels/);
  assert.equal(readFileSync(own), made, "what was made is taken");
});

test("what most commands need is a small part of the program", async () => {
  const sizeOf = (name: string) => statSync(join(dir, ".build", name)).size;
  assert.ok(sizeOf("command.cjs") < sizeOf("program.cjs") / 10);
  const whole = join(dir, ".build/program.cjs");
  renameSync(whole, `${whole}.gone`);
  assert.match(await portico(["hooks", "--help"]), /portico hooks/);
  await portico(["status", "--url", "http://127.0.0.1:9"]).then(
    () => assert.unreachable(),
    ({ stderr }) => assert.match(stderr, /No gateway answers/),
  );
  renameSync(`${whole}.gone`, whole);
});

test("what is cut short, damaged, another program's, another Node's or not there is made anew, and all runs", async () => {
  const good = readFileSync(kept);
  const head = good.indexOf("\n") + 1;
  const damaged = (at: number) =>
    Buffer.concat([good.subarray(0, at), Buffer.from("damaged"), good.subarray(at + 7)]);
  const other = { id: "//another 0", size: 4 };
  const variants: Record<string, Buffer | string> = {
    "nothing in it": "",
    "no head": good.subarray(head),
    "cut in its head": good.subarray(0, 20),
    "cut in its body": good.subarray(0, good.length / 2),
    "damaged head": damaged(5),
    "damaged where the engine looks": damaged(head),
    "damaged where it does not": damaged(good.length - 5000),
    "another Node's": Buffer.from(
      good.toString("latin1").replace(process.version, "v20.19.0"),
      "latin1",
    ),
    "another program's": `//${JSON.stringify(other)}\ncode`,
  };
  for (const [name, bytes] of Object.entries(variants)) {
    writeFileSync(kept, bytes);
    assert.is(await portico(["--version"]), version, name);
    const made = readFileSync(kept);
    assert.is(headOf(made), headOf(good), name);
  }
  rmSync(kept);
  await portico(["--version"]);
  const made = readFileSync(kept);
  await portico(["--version"]);
  assert.equal(readFileSync(kept), made, "what was made is taken");
  rmSync(kept);
  mkdirSync(kept);
  assert.is(await portico(["--version"]), version, "a directory");
  rmSync(kept, { recursive: true });
});

test("a program that was built anew does not run with what is kept of the one before", async () => {
  const program = join(dir, ".build/program.cjs");
  const text = readFileSync(program, "latin1");
  writeFileSync(
    program,
    text.replace(/^\/\/./, "//x").replaceAll("Run the gateway in", "RUN THE GATEWAY IN"),
    "latin1",
  );
  for (const _ of ["made anew", "taken"])
    assert.match(await portico(["start", "--help"]), /RUN THE GATEWAY IN/);
});

test("an installation that nobody may write is run by anybody", async () => {
  for (const remove of [false, true]) {
    if (remove)
      for (const name of ["command.v8", "program.v8", "start.v8"])
        rmSync(join(dir, ".build", name), { force: true });
    const names = readdirSync(join(dir, ".build"));
    chmodSync(join(dir, ".build"), 0o555);
    assert.is(await portico(["--version"], asStranger), version);
    const home = temporaryDir("portico-home-");
    writeFileSync(join(home, "portico.json"), '{ "gateway": { "port": 0 } }', { mode: 0o600 });
    const words = [process.execPath, join(dir, ".build/portico.cjs"), "start", "--home", home];
    const [command = "", ...args] = [...asStranger, ...words];
    const gateway = spawn(command, args, { stdio: ["ignore", "pipe", "inherit"] });
    const ended = once(gateway, "exit");
    let said = "";
    let isAsked = false; // a second signal would not let it end in order
    for await (const text of gateway.stdout.setEncoding("utf8"))
      if ((said += text).includes("Portico is running")) isAsked ||= gateway.kill();
    assert.equal(await ended, [0, null], said);
    assert.equal(readdirSync(join(dir, ".build")), names);
    chmodSync(join(dir, ".build"), 0o755);
  }
});

test("the first npx in a clone leaves what is built, below a gateway that runs", async () => {
  const built = () => statSync(join(packageDir, ".build/portico.cjs")).mtimeMs;
  const before = built();
  const env = { ...process.env, npm_command: "exec", npm_lifecycle_event: "prepare" };
  await run(process.execPath, ["--import", "tsx", ".ci/build.ts"], { cwd: packageDir, env });
  assert.is(built(), before);
});

test.run();
