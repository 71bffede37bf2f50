import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { Type } from "@sinclair/typebox";
import { test } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import { openConfig } from "../../../kernel/config/config.ts";
import { ConfigError } from "../../../kernel/config/config-error.ts";
import { ensureToken, generateToken } from "../../../kernel/config/token.ts";
import { openWith, schemas } from "./store.ts";
import { temporaryDir } from "../../support/temporary.ts";

async function complaint(work: () => unknown): Promise<ConfigError> {
  try {
    await work();
  } catch (error) {
    assert.instance(error, ConfigError);
    return error as ConfigError;
  }
  return assert.unreachable("it was taken") as never;
}

test("a missing file is an empty configuration", async () => {
  const { config } = await openWith(undefined);
  config.check();
  assert.is(config.kernel.gateway.port, 18789);
  assert.is(config.kernel.gateway.bind, "127.0.0.1");
  assert.is(config.kernel.gateway.http.maxBodyBytes, 33554432);
  assert.equal(config.section("gateway.nodes"), { browser: { mode: "auto" } });
  assert.equal(config.section("webhooks"), { enabled: false, rateLimit: { maxRequests: 100 } });
  assert.equal(config.section("channels.*"), {});
  assert.equal(config.raw, {});
});

test("an empty file, or one with comments only, is an empty configuration too", async () => {
  for (const text of ["", "\n", "// later\n"]) (await openWith(text)).config.check();
});

test("references are replaced by values, and missing members by defaults", async () => {
  const { config } = await openWith(
    `{ // comment
      gateway: { port: "\${PORT}", auth: { token: "\${A}-\${A}" } },
      log: { file: "/\${B}x" },
      channels: { main: { provider: "openai", apiKey: ["\${A}", "$\${A}"] }, },
    }`,
    { env: { PORT: "8080", A: "one", B: "" } },
  );
  config.check();
  assert.is(config.kernel.gateway.port, 8080);
  assert.is(config.kernel.gateway.auth.token, "one-one");
  assert.is(config.kernel.log.file, "/x");
  assert.equal(config.section("channels"), {
    main: { provider: "openai", apiKey: ["one", "${A}"], weight: 1 },
  });
  assert.equal((config.raw["gateway"] as { port: string }).port, "${PORT}");
});

test("an unset variable is named with its key and line", async () => {
  const { config } = await openWith(
    '{\n  channels: { main: { provider: "x", apiKey: "${NOT_SET}" } },\n}',
  );
  const error = await complaint(() => config.check());
  assert.is(
    error.message,
    "portico.json: line 2: channels.main.apiKey refers to the environment variable NOT_SET, which is not set; set the variable, or add NOT_SET=… to .env in Portico's home directory",
  );
  await complaint(() => config.section("channels"));
  config.section("webhooks");
});

test("a reference to nothing is refused", async () => {
  for (const text of [
    '{ log: { file: "${}" } }',
    '{ log: { file: "${a b}" } }',
    '{ log: { file: "${A" } }',
  ]) {
    const { config } = await openWith(text, { env: { A: "x" } });
    assert.match(
      (await complaint(() => config.check())).message,
      "does not name an environment variable; write $${",
    );
  }
});

test("a syntax error names line and column", async () => {
  const error = await complaint(() => openWith("{\n  gateway: { port: 1\n  log: {} }\n}"));
  assert.match(error.message, "portico.json: line 3, column 3: expected , or }");
  assert.match((await complaint(() => openWith("[]"))).message, "must be an object");
});

test("an unknown key is named with the nearest known one", async () => {
  const { config } = await openWith(
    '{\n  gatewya: {},\n  gateway: { prot: 1 },\n  port: 4,\n  channels: { main: { provider: "x", wieght: 2 } },\n}',
  );
  const { problems } = await complaint(() => config.check());
  assert.equal(problems.map(({ key, line, nearest }) => [key, line, nearest]).sort(), [
    ["channels.main.wieght", 5, "channels.main.weight"],
    ["gateway.prot", 3, "gateway.port"],
    ["gatewya", 2, "gateway"],
    ["port", 4, "gateway.port"],
  ]);
});

test("a wrong value is named with the expected type", async () => {
  const { config } = await openWith(
    '{ gateway: { port: "x" }, hooks: { trust: "most" }, webhooks: { rateLimit: { maxRequests: 0 } }, channels: { a: {} }, log: 5 }',
  );
  const { problems } = await complaint(() => config.check());
  assert.equal(Object.fromEntries(problems.map(({ key, message }) => [key, message])), {
    "gateway.port": "must be a whole number, not a string",
    "hooks.trust": 'must be "bundled", "managed", "approved", "workspace" or "all", not "most"',
    "webhooks.rateLimit.maxRequests": "must be 1 or more",
    "channels.a.provider": "is missing",
    log: "must be an object, not a number",
  });
});

test("a section complains about itself only", async () => {
  const { config } = await openWith("{ webhooks: { enabled: 1 }, nonsense: 1 }");
  assert.is((config.section("gateway") as { port: number }).port, 18789);
  assert.match(
    (await complaint(() => config.section("webhooks"))).message,
    "webhooks.enabled must be a boolean",
  );
});

test("the schemas of several owners are combined, and a withdrawn one no longer counts", async () => {
  const { config } = await openWith('{ channels: { a: { provider: "azure", apiVersion: "1" } } }');
  await complaint(() => config.check());
  const undo = config.define("azure", {
    "channels.*": Type.Object({ apiVersion: Type.Optional(Type.String({ description: "azure" })) }),
  });
  config.check();
  assert.equal(config.section("channels"), {
    a: { provider: "azure", apiVersion: "1", weight: 1 },
  });
  void undo();
  await complaint(() => config.check());
});

test("a section with two owners accepts what either schema accepts", async () => {
  const { config } = await openWith('{ webhooks: { token: ["a", "b"] } }');
  config.define("mine", {
    webhooks: Type.Object({ token: Type.Array(Type.String()), extra: Type.Number({ default: 2 }) }),
  });
  config.check();
  assert.equal(config.section("webhooks"), {
    token: ["a", "b"],
    enabled: false,
    rateLimit: { maxRequests: 100 },
    extra: 2,
  });
});

test("anything goes in the section of a plugin that does not load", async () => {
  const { config } = await openWith("{ mine: { a: { b: 1 } } }");
  config.define("mine", { mine: Type.Any() });
  config.check();
  await config.set("mine.a.c", 2);
  assert.equal(config.section("mine"), { a: { b: 1, c: 2 } });
});

test("the active configuration is frozen, and defaults are not shared", async () => {
  const { config } = await openWith("{}");
  const first = config.current as { gateway: { port: number; trustedProxies: string[] } };
  assert.throws(() => first.gateway.trustedProxies.push("x"));
  assert.throws(() => {
    first.gateway.port = 1;
  });
});

test("set writes one key with mode 0600, keeps the rest, and leaves no temporary files", async () => {
  const { config, file, text } = await openWith(
    '{ // mine\n  gateway: { port: 1 }, // why\n  log: { level: "${L}" },\n}\n',
    {
      env: { L: "debug", K: "k" },
    },
  );
  chmodSync(file, 0o644);
  await config.set("gateway.port", 2);
  await config.set(["channels", "my.own"], { provider: "openai", apiKey: "${K}" });
  assert.is(
    text(),
    '{ // mine\n  gateway: { port: 2 }, // why\n  log: { level: "${L}" },\n  channels: {\n    "my.own": {\n      provider: "openai",\n      apiKey: "${K}",\n    },\n  },\n}\n',
  );
  assert.is(statSync(file).mode & 0o777, 0o600);
  assert.equal(readdirSync(dirname(file)), ["portico.json"]);
  assert.is(config.kernel.gateway.port, 2);
  assert.ok(await config.unset('channels["my.own"]'));
  assert.is(await config.unset("channels.nope"), undefined);
  assert.equal(config.section("channels"), {});
});

test("set refuses an invalid value and writes nothing", async () => {
  const { config, text } = await openWith('{ log: { level: "info" } }');
  const cases: [string, unknown, string][] = [
    ["log.level", "loud", 'log.level must be "trace"'],
    ["log.levle", "info", "log.levle is not a known key; did you mean log.level?"],
    ["gatway.port", 1, "gatway.port is not a known key; did you mean gateway.port?"],
    ["gateway", { prot: 1 }, "did you mean gateway.port?"],
    ["channels.x", {}, "channels.x.provider is missing"],
  ];
  for (const [key, value, message] of cases)
    assert.match((await complaint(() => config.set(key, value))).message, message);
  assert.is(text(), '{ log: { level: "info" } }');
});

test("a bind that others can reach needs a token or a password", async () => {
  const open =
    /gateway\.bind is \S+, which other machines can reach: set gateway\.auth\.token or gateway\.auth\.password/;
  for (const bind of ["0.0.0.0", "::", "127.example.org", "192.168.1.2"]) {
    const { config } = await openWith(JSON.stringify({ gateway: { bind } }));
    assert.match((await complaint(() => config.check())).message, open, bind);
    await config.set("gateway.auth.token", "t");
    config.check();
    assert.match((await complaint(() => config.unset("gateway.auth.token"))).message, open, bind);
  }
  for (const bind of ["127.0.0.1", "127.0.0.2", "::1", "localhost"])
    (await openWith(JSON.stringify({ gateway: { bind } }))).config.check();
  const { config, text } = await openWith("{}");
  assert.match((await complaint(() => config.set("gateway.bind", "0.0.0.0"))).message, open);
  assert.is(text(), "{}");
});

test("where a wrong credential or an unset variable prevents a check, only that reason is reported", async () => {
  const cases = [
    [
      '{ gateway: { bind: "${HERE}" } }',
      "gateway.bind refers to the environment variable HERE, which is not set",
    ],
    [
      '{ gateway: { bind: "0.0.0.0", auth: { token: "" } } }',
      "gateway.auth.token must not be empty",
    ],
    [
      '{ gateway: { bind: "0.0.0.0", auth: { token: "${T}" } } }',
      "refers to the environment variable T, which is not set",
    ],
  ] as const;
  for (const [text, message] of cases) {
    const { config } = await openWith(text);
    const { problems } = await complaint(() => config.check());
    assert.is(problems.length, 1, text);
    assert.match(problems[0]!.message, message.slice(message.indexOf(" ") + 1));
  }
});

test("a reference becomes a number where the schema also allows a word, and stays a string where it allows any string", async () => {
  const { config } = await openWith(
    '{ gateway: { workers: "${N}" }, channels: { a: { provider: "x", apiKey: "${N}" } } }',
    {
      env: { N: "2" },
    },
  );
  config.check();
  assert.is(config.kernel.gateway.workers, 2);
  assert.equal(config.section("channels"), { a: { provider: "x", apiKey: "2", weight: 1 } });
  const { config: auto } = await openWith('{ gateway: { workers: "${N}" } }', {
    env: { N: "auto" },
  });
  assert.is(auto.kernel.gateway.workers, "auto");
});

test("set repairs one of two faults", async () => {
  const { config, text } = await openWith('{ log: { level: "loud" }, gateway: { port: "x" } }');
  await config.set("log.level", "info");
  assert.is(text(), '{ log: { level: "info" }, gateway: { port: "x" } }');
  await config.unset("gateway.port");
  config.check();
});

test("concurrent writers lose no change", async () => {
  const { config, file } = await openWith("{ channels: {} }");
  const other = await openConfig({ file, env: {} });
  other.define("test", schemas);
  const names = Array.from({ length: 12 }, (_, i) => `c${i}`);
  await Promise.all(
    names.map((name, i) => (i % 2 ? config : other).set(`channels.${name}`, { provider: "x" })),
  );
  const third = await openConfig({ file, env: {} });
  assert.equal(Object.keys(third.raw["channels"] as object).sort(), names.sort());
});

test("a write that a crash interrupted does not block later writes", async () => {
  const { config, file, text } = await openWith("{}");
  const left = join(dirname(file), ".portico.json.tmp");
  writeFileSync(left, "{ half");
  utimesSync(left, new Date(0), new Date(0));
  await config.set("gateway.port", 5);
  assert.match(text(), "5");
  assert.equal(readdirSync(dirname(file)), ["portico.json"]);
});

test("a link to the file stays a link", async () => {
  const directory = temporaryDir("portico-config-");
  mkdirSync(join(directory, "dotfiles"));
  const target = join(directory, "dotfiles", "real.json");
  const file = join(directory, "portico.json");
  writeFileSync(target, "{}");
  symlinkSync(target, file);
  const config = await openConfig({ file, env: {} });
  await config.set("gateway.port", 5);
  assert.match(readFileSync(target, "utf8"), '"port": 5');
});

test("a file that cannot be read says so", async () => {
  const directory = temporaryDir("portico-config-");
  mkdirSync(join(directory, "portico.json"));
  try {
    await openConfig({ file: join(directory, "portico.json"), env: {} });
    assert.unreachable();
  } catch (error) {
    assert.is((error as Error).message, "The file portico.json cannot be read: it is a directory.");
  }
});

test("a token is created once if there is no credential", async () => {
  const { config, file, text } = await openWith(undefined);
  assert.ok(await ensureToken(config));
  const { token } = config.kernel.gateway.auth;
  assert.match(token!, /^[\w-]{43}$/);
  assert.match(text(), token!);
  assert.is(statSync(file).mode & 0o777, 0o600);
  assert.not(await ensureToken(config));
  const again = await openConfig({ file, env: {} });
  assert.not(await ensureToken(again));
  assert.is(again.kernel.gateway.auth.token, token);
  const { config: withPassword, file: untouched } = await openWith(
    '{ gateway: { auth: { password: "p" } } }',
  );
  assert.not(await ensureToken(withPassword));
  assert.ok(existsSync(untouched));
  assert.not.match(readFileSync(untouched, "utf8"), "token");
});

test("the configuration lists its secrets", async () => {
  const { config } = await openWith(
    '{ gateway: { auth: { token: "t0" } }, channels: { a: { provider: "x", apiKey: ["k1", "${K}"], headers: { "x-auth": "h1", accept: "any" } } } }',
    { env: { K: "k2" } },
  );
  config.check();
  assert.equal(config.secrets().sort(), ["h1", "k1", "k2", "t0"]);
});

test("a generated token can be used on a command line", () => {
  const drawn = [Buffer.alloc(32, 0xfb), Buffer.alloc(32, 0xf8), Buffer.alloc(32, 7)];
  assert.match(drawn[0]!.toString("base64url"), /^-/);
  const token = generateToken(() => drawn.shift()!);
  assert.is(token, Buffer.alloc(32, 7).toString("base64url"));
});

test.run();
