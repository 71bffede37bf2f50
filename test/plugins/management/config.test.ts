import { once } from "node:events";
import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { test } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import { porticoHere } from "../../support/portico.ts";
import { temporaryDir } from "../../support/temporary.ts";

const portico = (home: string, words: string, value?: string) =>
  porticoHere(home, ["config", ...words.split(" "), ...(value === undefined ? [] : [value])], {
    LOGS: "/logs",
  });

const FILE = `{
  // mine
  gateway: { port: 8123, auth: { token: "s3cret-token" } }, // why
  log: { level: "\${LEVEL}" },
}
`;

function homeWith(text: string): { home: string; file: string } {
  const home = temporaryDir("portico-config-");
  writeFileSync(join(home, "portico.json"), text);
  return { home, file: join(home, "portico.json") };
}

test("get prints one key, its default, or everything; secrets only with --reveal", async () => {
  const { home } = homeWith(FILE);
  assert.equal(await portico(home, "get gateway.port"), { code: 0, stdout: "8123\n", stderr: "" });
  assert.is((await portico(home, "get gateway.bind")).stdout, "127.0.0.1\n");
  assert.is((await portico(home, "get gateway.auth.token")).stdout, "********\n");
  assert.is((await portico(home, "get gateway.auth.token --reveal")).stdout, "s3cret-token\n");
  assert.is((await portico(home, "get gateway.auth.password --json")).stdout, "null\n");
  const all = await portico(home, "get --json");
  assert.not.match(all.stdout, "s3cret");
  assert.is((JSON.parse(all.stdout) as { log: { level: string } }).log.level, "${LEVEL}");
});

test("an unknown key is one line on stderr, with the nearest known one", async () => {
  const { home } = homeWith(FILE);
  for (const words of [
    "get gateway.prot",
    "set gateway.prot 1",
    "set gateway.prot",
    "unset gateway.prot",
  ]) {
    const { code, stdout, stderr } = await portico(home, words);
    assert.is(code, 1, words);
    assert.is(stdout, "");
    assert.match(
      stderr,
      /^portico: .*gateway\.prot is not a known key; did you mean gateway\.port\?\n$/,
    );
  }
});

test("set keeps comments, references and order; the value is JSON5, else text", async () => {
  const { home, file } = homeWith(FILE);
  assert.is((await portico(home, "set gateway.port 9000")).code, 0);
  assert.is((await portico(home, "set gateway.auth.password 12345")).code, 0);
  assert.is((await portico(home, "set gateway.trustedProxies", "['10.0.0.0/8',]")).code, 0);
  assert.is((await portico(home, "set log.file ${LOGS}/a.log")).code, 0);
  assert.is(
    readFileSync(file, "utf8"),
    `{
  // mine
  gateway: { port: 9000, auth: { token: "s3cret-token", password: "12345" }, trustedProxies: ["10.0.0.0/8"] }, // why
  log: { level: "\${LEVEL}", file: "\${LOGS}/a.log" },
}
`,
  );
  assert.is(statSync(file).mode & 0o777, 0o600);
});

test("unset, and set without a value, bring the default back", async () => {
  const { home } = homeWith(FILE);
  assert.is(
    (await portico(home, "unset gateway.auth.token")).stdout,
    "Removed gateway.auth.token.\n",
  );
  assert.match((await portico(home, "set gateway.port")).stdout, /^Removed gateway\.port\./);
  assert.is((await portico(home, "unset gateway.port")).stdout, "gateway.port was not set.\n");
  assert.is((await portico(home, "get gateway.port")).stdout, "18789\n");
});

test("set creates a missing file, and refuses an invalid value", async () => {
  const home = join(temporaryDir("portico-config-"), "new", "home");
  assert.is((await portico(home, "set log.level debug")).code, 0);
  assert.equal(JSON.parse(readFileSync(join(home, "portico.json"), "utf8")), {
    log: { level: "debug" },
  });
  const { code, stderr } = await portico(home, "set log.level loud");
  assert.is(code, 1);
  assert.match(stderr, /^portico: .*log\.level must be "trace".*not "loud"\n$/);
  assert.equal(JSON.parse(readFileSync(join(home, "portico.json"), "utf8")), {
    log: { level: "debug" },
  });
});

test("set and unset report that the running gateway does not confirm the change", async () => {
  const { home } = homeWith(FILE);
  let statuses: number[] = [];
  const gateway = createServer((_, res) => {
    const status = statuses.shift() ?? 500;
    res.writeHead(status, { "content-type": "application/json", "x-request-id": "1" });
    res.end(status === 200 ? '{"problem":null}' : '{"error":{"message":"No time."}}');
  });
  gateway.listen(0, "127.0.0.1").unref();
  await once(gateway, "listening");
  const { port } = gateway.address() as AddressInfo;
  mkdirSync(join(home, "state"));
  const running = { pid: process.pid, port, url: `http://127.0.0.1:${port}` };
  writeFileSync(join(home, "state", "gateway.json"), JSON.stringify(running));
  const notice = "The running gateway did not confirm the change: No time. See portico doctor.";
  for (const [responseStatuses, words, output] of [
    [[200, 200], "set log.level debug", "Set log.level."],
    [[200, 503], "set log.level info", `Set log.level. ${notice}`],
    [[503, 503], "unset log.level", `Removed log.level. ${notice}`],
    [[200, 401], "set gateway.auth.token another-token", "Set gateway.auth.token."], // it is asked with the one before
  ] as const) {
    statuses = [...responseStatuses];
    assert.equal(await portico(home, words), { code: 0, stdout: `${output}\n`, stderr: "" });
  }
  gateway.close();
});

test("the output of set shows no secret", async () => {
  const { home } = homeWith("{}");
  const { stdout } = await portico(home, "set gateway.auth.token hush-hush-hush --json");
  assert.not.match(stdout, "hush");
  const { key, value, changes } = JSON.parse(stdout);
  assert.equal([key, value], ["gateway.auth.token", "********"]);
  assert.equal(changes, [{ key: "gateway.auth.token", kind: "added", after: "********" }]);
});

test("validate reports a valid file, or all faults with their lines", async () => {
  const { home, file } = homeWith("{}");
  assert.equal(await portico(home, "validate"), {
    code: 0,
    stdout: `${file} is valid.\n`,
    stderr: "",
  });
  writeFileSync(file, "{\n  gatway: 1,\n  log: { level: 5 },\n}");
  const wrong = await portico(home, "validate");
  assert.is(wrong.code, 1);
  assert.match(
    wrong.stdout,
    "line 2: gatway is not a known key; did you mean gateway?\nline 3: log.level must be",
  );
  assert.match(wrong.stderr, /^portico: portico\.json: .*\n$/);
  const json = await portico(home, "validate --json");
  assert.equal(
    (JSON.parse(json.stdout) as { problems: { key: string; line: number }[] }).problems
      .map(({ key, line }) => [key, line])
      .sort(),
    [
      ["gatway", 2],
      ["log.level", 3],
    ],
  );
  writeFileSync(join(home, "other.json"), "{ gateway: {");
  const other = await portico(home, "validate other.json");
  assert.is(other.code, 1);
  assert.match(other.stderr, /other\.json: line 1, column 12: .*never closed/);
  assert.match(
    (await portico(home, "validate nowhere.json")).stderr,
    "There is no file nowhere.json",
  );
  writeFileSync(file, FILE);
  assert.match((await portico(home, "validate")).stderr, "LEVEL, which is not set");
});

test("the kernel's constraints on its own keys hold even if plugins read them", async () => {
  const { home } = homeWith('{ gateway: { auth: { token: "two words" } } }');
  const { code, stdout } = await portico(home, "validate");
  assert.is(code, 1);
  assert.match(stdout, /line 1: gateway\.auth\.token must be free of white space/);
});

interface Printed {
  required?: string[];
  additionalProperties?: unknown;
  properties: Record<string, Printed>;
}

test("the schema contains the sections of every plugin, including those of the user", async () => {
  const { home, file } = homeWith("{ greeter: { greeting: 'hi' } }");
  mkdirSync(join(home, "plugins", "greeter"), { recursive: true });
  writeFileSync(
    join(home, "plugins", "greeter", "plugin.ts"),
    `import { definePlugin, Type } from "portico";
export default definePlugin({ name: "greeter", config: { greeter: Type.Object({ greeting: Type.String({ default: "hello" }) }) }, setup() {} });`,
  );
  const { stdout } = await portico(home, "schema");
  const schema = JSON.parse(stdout) as Printed;
  assert.ok(schema.properties["gateway"]?.properties["port"]);
  // Of what a person writes: what has a default is not required.
  assert.is(schema.required, undefined);
  assert.is(schema.properties["gateway"]?.required, undefined);
  assert.is(schema.properties["gateway"]?.additionalProperties, false);
  assert.equal(
    (schema.properties["channels"] as Printed & { additionalProperties: Printed })
      .additionalProperties.required,
    ["provider"],
  );
  assert.equal(Object.keys(schema.properties["greeter"]?.properties ?? {}), ["greeting"]);
  assert.is((await portico(home, "validate")).code, 0);
  writeFileSync(file, "{ greeter: { greting: 'hi' } }");
  assert.match(
    (await portico(home, "validate")).stderr,
    "greeter.greting is not a known key; did you mean greeter.greeting?",
  );
  writeFileSync(join(home, "plugins", "greeter", "plugin.ts"), "export default {{");
  assert.is((await portico(home, "validate")).code, 0);
});

test.run();
