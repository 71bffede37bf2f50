/** Checks the files of `examples/deploy` that need a container engine or a supervisor, as far as that is possible. */
import { execFile, execFileSync } from "node:child_process";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, relative } from "node:path";
import { promisify } from "node:util";
import * as assert from "uvu/assert";
import { parse } from "yaml";
import { porticoProgram } from "../../support/runner/bundle.ts";
import { makeHome, packageDir, type SpawnedGateway, spawnGateway } from "../../support/gateway.ts";
import { suite } from "../../support/suite.ts";
import { temporaryDir } from "../../support/temporary.ts";
import { deployDir, readExample, writeExample } from "./example.ts";

const test = suite("deployment");
const run = promisify(execFile);
const gateways: SpawnedGateway[] = [];
// This also covers a test that failed earlier.
test.after.each(async () => {
  for (const gateway of gateways.splice(0)) await gateway.stop();
});

async function start(options?: Parameters<typeof spawnGateway>[0]): Promise<SpawnedGateway> {
  const gateway = await spawnGateway(options);
  gateways.push(gateway);
  return gateway;
}

/** Instructions with their words, continued lines joined. */
function instructions(): { name: string; words: string }[] {
  return readExample("Containerfile")
    .replace(/\\\n/g, " ")
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"))
    .map((line) => {
      const [name = "", ...words] = line.trim().split(/\s+/);
      return name === "CMD"
        ? { name: "HEALTHCHECK CMD", words: words.join(" ") }
        : { name, words: words.join(" ") };
    });
}

test("the image is built in stages from what the package needs, runs as nobody special, and starts what is packed", () => {
  const all = instructions();
  const named = (name: string) =>
    all.filter((entry) => entry.name === name).map(({ words }) => words);
  const [build, runtime] = named("FROM");
  assert.match(build ?? "", / AS build$/);
  assert.not.match(runtime ?? "", / AS /);
  assert.equal(named("USER"), ["node"]);
  assert.equal(JSON.parse(named("ENTRYPOINT")[0] ?? ""), ["portico"]);
  const { bin, devDependencies, files } = JSON.parse(
    readFileSync(join(packageDir, "package.json"), "utf8"),
  );
  assert.ok(bin.portico && devDependencies.pg, "what its steps ask the package for");
  const ignored = readExample("Containerfile.dockerignore").split("\n");
  for (const path of ["node_modules", ".git", "**/.env"])
    assert.ok(ignored.includes(path), `${path} would be sent along`);
  for (const path of ["package.json", ".ci", ...files.filter((file: string) => file !== ".build")])
    assert.not.ok(ignored.includes(path), `${path} is built from and is not sent along`);
});

test("the image's health check tells a gateway that is ready from one that is not there", async () => {
  const words =
    instructions().find(({ name, words }) => name === "HEALTHCHECK" || words.includes("/ready"))
      ?.words ?? "";
  const [, flag = "", script = ""] = JSON.parse(words.slice(words.indexOf("["))) as string[];
  const gateway = await start();
  const check = () => run(process.execPath, [flag, script.replace("18789", String(gateway.port))]);
  await check();
  await gateway.stop();
  await check().then(
    () => assert.unreachable("it is healthy without a gateway"),
    (error: { code: number }) => assert.is(error.code, 1),
  );
});

test("the compose file's services have what they name, and its configuration starts a gateway", async () => {
  const compose = parse(readExample("compose.yaml"), { merge: true });
  const { services, volumes, configs } = compose;
  for (const [name, service] of Object.entries<any>(services)) {
    for (const needed of Object.keys(service.depends_on ?? {}))
      assert.ok(services[needed]?.healthcheck || services[needed]?.build, `${name}: ${needed}`);
    for (const mount of service.volumes as string[]) {
      const [from = "", to] = mount.split(":");
      if (from.startsWith("./") && from !== "./certs")
        assert.ok(existsSync(join(deployDir, from)), `${name}: ${from}`);
      else if (!from.startsWith("./")) assert.ok(from in volumes, `${name}: ${from}`);
      assert.ok(to?.startsWith("/"));
    }
  }
  assert.match(
    readExample("nginx.conf"),
    new RegExp(`include ${services.nginx.configs[0].target};`),
  );
  for (const [, host] of (configs.upstream.content as string).matchAll(/server (\S+):18789 /g))
    assert.ok(services[host as string], host);
  const dir = temporaryDir("portico-deploy-");
  const environment = services["gateway-1"].environment as Record<string, string>;
  const gateway = await start({
    home: makeHome(),
    config: {},
    args: [
      "--config",
      writeExample(dir, "portico.json5", {
        '"${PORTICO_STORE}"': JSON.stringify(`file:${dir}/p.db`),
      }),
      "--port",
      "0",
    ],
    env: { ...environment, PORTICO_TOKEN: "a-token", PORTICO_WEBHOOK_TOKEN: "another-token" },
  });
  const ask = (token: string) => gateway.request("GET", "/store", undefined, { token });
  assert.is((await ask("a-token")).status, 200);
  assert.is((await ask("another-token")).status, 401);
  await gateway.stop();
});

test("gateways of one machine use ports that their servers for the browser leave free", () => {
  const texts = readdirSync(deployDir).map((name) => readFileSync(join(deployDir, name), "utf8"));
  const ports = new Set(
    texts
      .join("\n")
      .match(/\b187\d\d\b/g)
      ?.map(Number),
  );
  assert.ok(ports.size > 1, "the files show several gateways");
  // Browser control listens on the gateway's port + 2, the relay on the port + 3.
  const listening = [...ports].flatMap((port) => [port, port + 2, port + 3]);
  assert.equal(listening.length, new Set(listening).size, `${listening}`);
});

test("the unit is valid and confines the gateway", async () => {
  const file = writeExample(temporaryDir("portico-unit-"), "portico@.service", {
    "/usr/bin/node ": `${process.execPath} `,
    "User=portico": "User=daemon",
    "Group=portico": "Group=daemon",
  });
  const unit = readExample("portico@.service");
  for (const line of [
    "NoNewPrivileges=true",
    "ProtectSystem=strict",
    "CapabilityBoundingSet=",
    "KillMode=mixed",
  ])
    assert.ok(unit.includes(`\n${line}\n`), line);
  const words = /^ExecStart=\S+ \S+ (.*)$/m.exec(unit)?.[1]?.split(" ") ?? [];
  const help = await run(process.execPath, [...porticoProgram(), "start", "--help"]);
  for (const word of words.filter((each) => each.startsWith("--")))
    assert.ok(help.stdout.includes(word), `start takes no ${word}`);
  // A machine without systemd does not need the unit.
  if (!existsSync("/usr/bin/systemd-analyze")) return;
  const { stdout, stderr } = await run("systemd-analyze", ["verify", "--man=no", file]).catch(
    (error) => error,
  );
  assert.not.match(`${stdout}${stderr}`, /portico@/);
  const { stdout: rating } = await run("systemd-analyze", ["security", "--offline=true", file]);
  const exposure = Number(/exposure level for \S+: ([\d.]+)/.exec(rating)?.[1]);
  assert.ok(exposure < 2.5, `systemd-analyze security gives ${exposure}`);
});

test("a home is backed up while its gateway runs, and restored from the backup", async () => {
  const dir = temporaryDir("portico-backup-");
  const command = join(dir, "portico");
  const words = [process.execPath, ...porticoProgram()].map((word) => `'${word}'`).join(" ");
  writeFileSync(command, `#!/bin/sh\nexec ${words} "$@"\n`);
  chmodSync(command, 0o755);
  const gateway = await start({
    home: makeHome(),
    config: { agents: { defaults: { model: "echo" } } },
    files: {
      "workspace/AGENTS.md": "Be kind.",
      "state/hook-approvals.json": "{}",
      "notes/own.txt": "a file of the owner's",
    },
  });
  await gateway.json("POST", "/agent", { message: "remember this", session: "kept", wait: true });
  const archive = join(dir, "home.tar.gz");
  // as GNU tar ends where a file was written to meanwhile
  const tar = join(dir, "tar");
  writeFileSync(tar, '#!/bin/sh\nPATH=${PATH#*:} tar "$@" && exit 1\n');
  chmodSync(tar, 0o755);
  const relativeTo = {
    cwd: dir,
    env: { ...process.env, PORTICO: "./portico", PATH: `${dir}:${process.env["PATH"]}` },
  };
  await run(join(deployDir, "backup.sh"), [relative(dir, gateway.home), "home.tar.gz"], relativeTo);
  const outside = join(dir, "outside.json");
  writeFileSync(outside, '{ "log": { "level": "warn" } }');
  const archiveWithConfig = join(dir, "with-config.tar.gz");
  const wordsWithConfig = [gateway.home, archiveWithConfig, "outside.json"];
  await run(join(deployDir, "backup.sh"), wordsWithConfig, relativeTo);
  const listed = execFileSync("tar", ["-xOzf", archiveWithConfig, "./portico.json"], {
    encoding: "utf8",
  });
  assert.is(listed, '{ "log": { "level": "warn" } }');
  await gateway.stop();
  const home = join(dir, "restored");
  const withCommand = { cwd: dir, env: { ...process.env, PORTICO: "./portico" } };
  await run(join(deployDir, "restore.sh"), [archive, home], withCommand);
  assert.is(readFileSync(join(home, "workspace/AGENTS.md"), "utf8"), "Be kind.");
  assert.is(readFileSync(join(home, "notes/own.txt"), "utf8"), "a file of the owner's");
  assert.is(readFileSync(join(home, "state/hook-approvals.json"), "utf8"), "{}");
  const restored = await start({ home });
  const { messages } = await restored.json("GET", "/sessions/kept");
  assert.is(messages[0].content, "remember this");
  await restored.stop();
  const refusal = (from: string, to: string): Promise<string> =>
    run(join(deployDir, "restore.sh"), [from, to], withCommand).then(
      () => assert.unreachable("it was restored") as never,
      (error: { stderr: string }) => error.stderr,
    );
  assert.match(await refusal(archive, home), "is not empty");
  const configured = makeHome();
  writeFileSync(join(configured, "portico.json"), "{}");
  assert.match(await refusal(archive, configured), "is not empty");
  assert.is(readFileSync(join(configured, "portico.json"), "utf8"), "{}");
  const cut = join(dir, "cut.tar.gz");
  writeFileSync(cut, readFileSync(archive).subarray(0, -200));
  const before = readdirSync(dir);
  await refusal(cut, join(dir, "none"));
  assert.equal(readdirSync(dir), before);
  assert.is(
    execFileSync("tar", ["-tzf", archive], { encoding: "utf8" }).match(/backups\/\S+\.db/g)?.length,
    1,
  );
});

test("the scripts of a checkout or package that is not on the PATH take its own program", async () => {
  const dir = temporaryDir("portico-checkout-");
  const [scripts, build] = [join(dir, "examples", "deploy"), join(dir, ".build")];
  cpSync(deployDir, scripts, { recursive: true });
  mkdirSync(build);
  // It stands in for the program, which it starts.
  const words = JSON.stringify([...porticoProgram()]);
  const program = `require("node:child_process").spawnSync(process.execPath, [...${words}, ...process.argv.slice(2)], { stdio: "inherit" });\n`;
  writeFileSync(join(build, "portico.cjs"), program);
  const { PORTICO: _, ...env } = process.env;
  const options = { cwd: dir, env: { ...env, PATH: `${dirname(process.execPath)}:/usr/bin:/bin` } };

  const gateway = await start({ home: makeHome(), config: {} });
  await run(join(scripts, "backup.sh"), [gateway.home, "home.tar.gz"], options);
  await gateway.stop();
  await run(join(scripts, "restore.sh"), ["home.tar.gz", "restored"], options);
  assert.ok(existsSync(join(dir, "restored", "state", "portico.db")));

  rmSync(build, { recursive: true });
  const error = await run(join(scripts, "backup.sh"), [gateway.home, "x.tar.gz"], options).then(
    () => assert.unreachable("There is no program.") as never,
    ({ stderr }: { stderr: string }) => stderr,
  );
  assert.match(error, "PORTICO");
});

test.run();
