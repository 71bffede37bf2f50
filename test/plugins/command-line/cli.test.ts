import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { suite } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import { makeHome, packageDir, type SpawnedGateway, spawnGateway } from "../../support/gateway.ts";
import { portico, porticoHere } from "../../support/portico.ts";
import { until } from "../../support/until.ts";

const test = suite("command line");
let home = "";
let gateway: SpawnedGateway;

test.before(async () => {
  home = makeHome();
  gateway = await spawnGateway({ home, config: {} });
});
test.after(() => gateway.stop());

test("bare portico prints help that names every command and the first steps", async () => {
  const { code, stdout } = await portico(home, []);
  assert.is(code, 0);
  for (const word of ["start", "status", "config", "hooks", "plugins", "logs", "First steps"])
    assert.match(stdout, word);
});

test("one line on stderr suggests the nearest command or option for a mistyped one", async () => {
  const command = await portico(home, ["statsu"]);
  assert.is(command.code, 2);
  assert.is(
    command.stderr,
    'portico: There is no command "portico statsu". Did you mean status? `portico --help` lists the commands.\n',
  );
  const option = await portico(home, ["status", "--jsno"]);
  assert.is(option.code, 2);
  assert.match(option.stderr, /no option --jsno\. Did you mean --json\?/);
});

test("a command with its own --url option accepts the gateway's --url before its name", async () => {
  const { url, token } = gateway;
  const elsewhere = makeHome();
  const source = "https://example.com/releases.atom";
  for (const [name, words] of [
    ["first", ["--url", url, "polls", "add", "first", "--url", source]],
    ["inner", ["polls", `--url=${url}`, "add", "inner", "--url", source]],
  ] as const) {
    const { code, stdout, stderr } = await porticoHere(elsewhere, [
      ...words,
      "--token",
      token,
      "--json",
    ]);
    assert.is(code, 0, stderr);
    assert.is(JSON.parse(stdout).source.url, source, name);
  }
  const edited = await porticoHere(elsewhere, [
    "--url",
    url,
    "polls",
    "edit",
    "first",
    "--every",
    "1d",
    "--token",
    token,
  ]);
  assert.is(edited.code, 0, edited.stderr);
  assert.match(
    (await porticoHere(home, ["polls", "add", "--help"])).stdout,
    /--url .*; put --url before the command's name to pass the gateway's address/,
  );
});

test("options with their values may precede the command and stand between its words", async () => {
  const { url, token } = gateway;
  const elsewhere = makeHome();
  for (const words of [
    ["--url", url, "--token", token, "hooks", "list", "--json"],
    ["--json", "hooks", `--url=${url}`, "--token", token, "list"],
    ["hooks", "--json", "--token", token, "list", "--url", url],
  ]) {
    const { code, stdout, stderr } = await porticoHere(elsewhere, words);
    assert.is(code, 0, stderr);
    assert.ok(JSON.parse(stdout), words.join(" "));
  }
  const profile = await porticoHere(home, [
    "browser",
    "--browser-profile",
    "tabs",
    "--json",
    "tabs",
  ]);
  assert.match(
    profile.stderr,
    'There is no browser profile "tabs"',
    "the value of an option is no command",
  );
  assert.match((await porticoHere(home, ["hooks", "--help", "list"])).stdout, "portico hooks list");
  for (const [words, message] of [
    [["hooks", "--frob", "list"], "portico hooks has no option --frob"],
    [["--frob", "hooks", "list"], 'no command "portico --frob"'],
    [["browser", "--json"], "portico browser needs a command"],
    [["hooks", "--json", "lsit"], "Did you mean list?"],
  ] as const) {
    const { code, stdout, stderr } = await porticoHere(home, [...words]);
    assert.equal([code, stdout], [2, ""], words.join(" "));
    assert.match(stderr, message);
  }
});

test("a negative number is a value of an argument or option, and not an option itself", async () => {
  const key = "channels.spare";
  assert.is(
    (await porticoHere(home, ["config", "set", key, "{provider: 'echo', enabled: false}"])).code,
    0,
  );
  for (const value of ["-1", "-2.5e0"]) {
    const { code, stderr } = await porticoHere(home, ["config", "set", `${key}.priority`, value]);
    assert.is(code, 0, stderr);
    assert.is(
      JSON.parse((await porticoHere(home, ["config", "get", `${key}.priority`, "--json"])).stdout),
      Number(value),
    );
  }
  const place = ["-33.87", "151.2", "--accuracy", "-1"];
  assert.match(
    (await porticoHere(home, ["browser", "set", "geolocation", ...place])).stderr,
    "accuracy must be 0 or more",
  );
  assert.match((await porticoHere(home, ["status", "-1"])).stderr, 'takes no argument "-1"');
  assert.match((await porticoHere(home, ["status", "-1x"])).stderr, "has no option -1");
});

test("help of a subcommand shows usage, options and examples", async () => {
  const { code, stdout } = await portico(home, ["logs", "--help"]);
  assert.is(code, 0);
  for (const word of ["Usage: portico logs", "--follow", "Examples:"]) assert.match(stdout, word);
});

test("help before a command's name is the command's own", async () => {
  for (const words of [["hooks", "new"], ["browser"], ["start"], ["--json", "cron"]]) {
    const help = await porticoHere(home, [...words, "--help"]);
    assert.equal(await porticoHere(home, ["help", ...words]), help, words.join(" "));
    assert.match(help.stdout, "Usage: portico");
  }
  assert.equal(await porticoHere(home, ["help"]), await porticoHere(home, []));
  assert.match((await porticoHere(home, ["help", "hoks"])).stderr, "Did you mean hooks?");
});

test("status finds the gateway of its home, whatever its port", async () => {
  const { code, stdout } = await portico(home, ["status"]);
  assert.is(code, 0);
  assert.match(stdout, gateway.url);
  const json = JSON.parse((await portico(home, ["status", "--json"])).stdout) as { url: string };
  assert.is(json.url, gateway.url);
});

test("an empty directory or token, as from an unset variable, is refused", async () => {
  for (const option of ["--home", "--config", "--workspace", "--token"])
    for (const words of [
      ["start", option, ""],
      ["start", `${option}= `],
    ]) {
      const { code, stdout, stderr } = await porticoHere(home, words);
      assert.equal([code, stdout, stderr], [2, "", `portico: ${option} must not be empty.\n`]);
    }
});

test("one line reports a wrong token or a missing gateway", async () => {
  const wrong = await portico(home, ["status", "--token", "nonsense"]);
  assert.is(wrong.code, 1);
  assert.match(wrong.stderr, /^portico: .*credentials are wrong.*\n$/i);
  const nobody = await portico(home, ["status", "--url", "http://127.0.0.1:1"]);
  assert.is(nobody.code, 1);
  assert.is(
    nobody.stderr,
    "portico: No gateway answers at http://127.0.0.1:1. Start one with: portico start\n",
  );
});

test("logs prints what the gateway logged", async () => {
  const { stdout } = await portico(home, ["logs", "--json"]);
  const lines = stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as { msg: string });
  assert.ok(lines.some(({ msg }) => msg === "portico is running"));
});

test("logs with zero lines prints nothing", async () => {
  assert.equal(await portico(home, ["logs", "--json", "-n", "0"]), {
    code: 0,
    stdout: "",
    stderr: "",
  });
});

test("config set is active when the command ends", async () => {
  assert.is(
    (
      await portico(home, [
        "config",
        "set",
        "mcp.servers.none",
        "{command: 'none', enabled: false}",
      ])
    ).code,
    0,
  );
  assert.equal(
    (await gateway.json("GET", "/mcp/servers")).servers.map(({ name }: { name: string }) => name),
    ["none"],
  );
});

test("plugins new writes a provider that works without a restart, and a test that passes", async () => {
  const result = await portico(home, ["plugins", "new", "shouter", "--kind", "provider"]);
  assert.is(result.code, 0, result.stderr);
  assert.match(result.stdout, /\(active\)/);
  const body = { model: "shouter/m", messages: [{ role: "user", content: "hello" }] };
  const response = await until("the provider", async () => {
    const response = await gateway.request("POST", "/v1/chat/completions", body);
    return response.status !== 404 && ((await response.json()) as any);
  });
  assert.is(response.choices[0].message.content, "You said: hello");
  const streamed = await gateway.request("POST", "/v1/chat/completions", { ...body, stream: true });
  assert.match(await streamed.text(), /"You"[\s\S]*" said:"[\s\S]*" hello"[\s\S]*\[DONE\]/);
  const dir = join(home, "plugins", "shouter");
  assert.ok(readFileSync(join(dir, "plugin.ts"), "utf8").split("\n").length <= 64);
  const tested = spawnSync(process.execPath, ["--test", "plugin.test.mjs"], {
    cwd: dir,
    encoding: "utf8",
  });
  assert.is(tested.status, 0, tested.stdout);
  assert.match(tested.stdout, /^(?:#|ℹ) pass 3\n/m);
  const tsc = join(packageDir, "node_modules/typescript/bin/tsc");
  assert.is(
    spawnSync(process.execPath, [tsc, "-p", dir, "--pretty", "false"], { encoding: "utf8" }).stdout,
    "",
  );
  const again = await portico(home, ["plugins", "new", "shouter"]);
  assert.is(again.code, 1);
  assert.match(again.stderr, /already/);
});

test("a command whose plugin is disabled reports that", async () => {
  await gateway.json("POST", "/kernel/plugins/polls/disable");
  const { code, stderr } = await portico(home, ["polls", "list"]);
  await gateway.json("POST", "/kernel/plugins/polls/enable");
  assert.is(code, 1);
  assert.match(stderr, /plugin of this command may be disabled: see portico plugins list/);
});

test("an error about a port in use includes the remedy", async () => {
  const { code, stderr } = await portico(makeHome(), ["start", "--port", String(gateway.port)]);
  assert.is(code, 1);
  assert.match(stderr, new RegExp(`${gateway.port}.*--port`));
});

test.run();
