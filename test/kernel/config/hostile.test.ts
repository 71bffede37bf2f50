/** Secrets that protect nothing, and a `.env` that others may read. */
import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { Type } from "@sinclair/typebox";
import * as assert from "uvu/assert";
import { test } from "../../support/suite.ts";
import { porticoHere } from "../../support/portico.ts";
import { temporaryDir } from "../../support/temporary.ts";
import { until } from "../../support/until.ts";
import { openWith } from "./store.ts";

const secrets = {
  mine: Type.Object({
    secret: Type.Optional(Type.Union([Type.String(), Type.Array(Type.String())])),
    key: Type.Optional(Type.String({ secret: true })),
    login: Type.Optional(
      Type.Object({
        password: Type.Optional(Type.String()),
        passphrase: Type.Optional(Type.String()),
      }),
    ),
    apiToken: Type.Optional(Type.String({ emptyIsNone: true })),
    places: Type.Optional(Type.Record(Type.String(), Type.Object({ token: Type.String() }))),
    odd: Type.Optional(
      Type.Integer({ refuse: (value: number) => (value % 2 ? undefined : "must be odd") }),
    ),
  }),
};

const blank: [text: string, key: string, says: string][] = [
  [
    '{ gateway: { auth: { token: "", password: "p" } } }',
    "gateway.auth.token",
    "must not be empty",
  ],
  [
    '{ gateway: { auth: { token: "${EMPTY}", password: "p" } } }',
    "gateway.auth.token",
    "EMPTY, which is empty",
  ],
  [
    '{ gateway: { auth: { token: "${SPACE}", password: "p" } } }',
    "gateway.auth.token",
    "SPACE, which is empty",
  ],
  ['{ gateway: { auth: { password: " \\t" } } }', "gateway.auth.password", "must not be empty"],
  ['{ gateway: { auth: { password: "\u200b" } } }', "gateway.auth.password", "must not be empty"],
  ['{ webhooks: { token: "\\u0000" } }', "webhooks.token", "must not be empty"],
  ['{ mine: { secret: "\u3164\u2800" } }', "mine.secret", "must not be empty"],
  ['{ mine: { secret: "${UNSEEN}" } }', "mine.secret", "UNSEEN, which is empty"],
  ['{ webhooks: { token: "" } }', "webhooks.token", "must not be empty"],
  ['{ webhooks: { token: "whsec_${EMPTY}" } }', "webhooks.token", "EMPTY, which is empty"],
  ['{ mine: { secret: "" } }', "mine.secret", "must not be empty"],
  ['{ mine: { secret: ["a", " "] } }', "mine.secret[1]", "must not be empty"],
  ['{ mine: { key: "" } }', "mine.key", "must not be empty"],
  ['{ mine: { login: { password: "" } } }', "mine.login.password", "must not be empty"],
  ['{ mine: { login: { passphrase: "\\n" } } }', "mine.login.passphrase", "must not be empty"],
  [
    '{ mine: { places: { a: { token: "t" }, "b.c": { token: "" } } } }',
    'mine.places["b.c"].token',
    "must not be empty",
  ],
  [
    '{ channels: { a: { provider: "x", headers: { authorization: "Bearer ${EMPTY}" } } } }',
    "channels.a.headers.authorization",
    "EMPTY, which is empty",
  ],
  [
    '{ gateway: { auth: { token: " abc" } } }',
    "gateway.auth.token",
    "must have no white space around it",
  ],
  ['{ webhooks: { token: "${PADDED}" } }', "webhooks.token", "must have no white space around it"],
  ["{ mine: { odd: 2 } }", "mine.odd", "must be odd"],
];
for (const [text, key, message] of blank) {
  test(`an empty secret is refused by name: ${text}`, async () => {
    const { config } = await openWith(text, {
      env: { EMPTY: "", SPACE: " \t ", UNSEEN: "\u2060\ufeff", PADDED: "abc\n" },
    });
    config.define("mine", secrets);
    assert.throws(
      () => config.check(),
      (error: Error) => error.message.includes(key) && error.message.includes(message),
    );
  });
}

test("an empty API key, header or hook variable counts as missing and is not an error", async () => {
  const { config } = await openWith(
    '{ channels: { a: { provider: "x", apiKey: "", headers: { "x-token": "" } }, b: { provider: "x", apiKey: "${EMPTY}" } }, mine: { apiToken: "" }, hooks: { entries: { h: { env: { MY_TOKEN: "" } } } } }',
    { env: { EMPTY: "" } },
  );
  config.define("mine", secrets);
  config.check();
});

test("set writes no empty secret", async () => {
  const { config, text } = await openWith('{ webhooks: { token: "abc" } }', { env: { EMPTY: "" } });
  for (const value of ["", " ", "${EMPTY}", "${UNSET}"]) {
    try {
      await config.set("webhooks.token", value);
      assert.unreachable(value);
    } catch (error) {
      assert.match((error as Error).message, /webhooks\.token (must not be empty|refers to)/);
    }
  }
  assert.is(text(), '{ webhooks: { token: "abc" } }');
});

async function withEnvFile(variables: string, mode = 0o600) {
  const envFile = join(temporaryDir("portico-env-"), ".env");
  writeFileSync(envFile, variables);
  chmodSync(envFile, mode);
  return {
    envFile,
    ...(await openWith('{ gateway: { auth: { token: "${T}" } } }', {
      env: { A: "process" },
      envFile,
    })),
  };
}

test("variables of .env yield to the process's own and are read again after a change", async () => {
  const { config, envFile } = await withEnvFile(
    '# mine\nexport T="t one"\nA=file\n'.replace("t one", "one"),
  );
  assert.is(config.kernel.gateway.auth.token, "one");
  assert.is(config.env["A"], "process");
  const changes: string[][] = [];
  const stop = await config.watch(async ({ keys }) => void changes.push(keys));
  writeFileSync(envFile, "T=two\n");
  await until("the change", () => config.kernel.gateway.auth.token === "two");
  assert.equal(changes, [["gateway.auth.token"]]);
  writeFileSync(envFile, "T=\n");
  await until("the problem", () => config.problem);
  assert.match(
    config.problem?.message ?? "",
    "gateway.auth.token refers to the environment variable T, which is empty",
  );
  assert.is(config.kernel.gateway.auth.token, "two");
  writeFileSync(envFile, "T=three\n");
  await until("the mending", () => config.kernel.gateway.auth.token === "three" && !config.problem);
  chmodSync(envFile, 0o644);
  await until("the wrong mode", () => config.problem);
  assert.match(config.problem?.message ?? "", /other users may read it: run chmod 600/);
  assert.is(config.kernel.gateway.auth.token, "three");
  await stop();
});

test("a .env that others may read, or that has an invalid line, is refused without showing its content", async () => {
  for (const mode of [0o644, 0o640, 0o666, 0o602]) {
    try {
      await withEnvFile("T=one\n", mode);
      assert.unreachable(mode.toString(8));
    } catch (error) {
      assert.match((error as Error).message, ".env: other users may read it: run chmod 600");
    }
  }
  const bad: [string, number][] = [
    ["A=1\nmy secret thing\nT=one\n", 2],
    ["T=one\nmy secret thing", 2],
    ["# a comment\n\nT=one\n=secret thing\n", 4],
    ['B="two\nlines"\nmy-secret thing=1\nT=one\n', 3],
    ["T=one\r\n1secret thing=2\r\n", 2],
    ["T=one\nexport secret thing\n", 2],
    ["exportT=one\nexport =secret thing\n", 2],
    ['T=one\nA="x" secret thing\n', 2],
    ["T=one\nA='x'secret thing\n", 2],
    ['A="two\nlines" secret thing\nT=one\n', 2],
    ["T=one\nA=`x`; secret thing", 2],
  ];
  for (const [text, line] of bad) {
    try {
      await withEnvFile(text);
      assert.unreachable(text);
    } catch (error) {
      assert.match((error as Error).message, `.env: line ${line}: `);
      assert.not.match((error as Error).message, "secret thing");
    }
  }
});

test("a .env has comments, blank lines, exports, spaces and quoted values of several lines", async () => {
  const text =
    '\uFEFF# first\r\n\n  export F = 1 # why\nE=\nB="two\n=lines"\nC=\'it"s\'\nD=`a\'b\n"c`\nexport   G=two\nexport\t H="3" # why\nI=\'a\nexport b\'\nT=one';
  const { config } = await withEnvFile(text);
  const { B, C, D, E, F } = config.env;
  assert.equal({ B, C, D, E, F }, { F: "1", B: "two\n=lines", C: 'it"s', D: "a'b\n\"c", E: "" });
  const { G, H, I } = config.env;
  assert.equal({ G, H, I }, { G: "two", H: "3", I: "a\nexport b" });
});

test("a file that is not UTF-8 is refused, and never written back with its characters lost", async () => {
  const latin = Buffer.from('{ webhooks: { token: "gr\xfcn" } }', "latin1");
  const { file, config } = await openWith("{}");
  writeFileSync(file, latin);
  const refused = await config.set("webhooks.enabled", true).catch((error: Error) => error.message);
  assert.match(String(refused), /portico\.json cannot be read: .*not valid for encoding utf-8/);
  assert.equal(readFileSync(file), latin);
  await config.refresh();
  assert.match(config.problem?.message ?? "", /utf-8/);
});

test("an entry's name inside a map of entries, and a list instead of the map, are answered with the right form", async () => {
  const { config, write } = await openWith(
    '{ mine: { places: { a: { token: "t", name: "a" } } } }',
  );
  config.define("mine", secrets);
  const problemOf = async (text: string) => {
    write(text);
    await config.refresh();
    return config.problem?.message ?? "";
  };
  assert.throws(
    () => config.check(),
    /entries of mine\.places are named by their keys, so this entry already has the name a: remove this field/,
  );
  assert.match(
    await problemOf('{ mine: { places: { a: { token: "t", id: 1 } } } }'),
    /this entry already has the name a: remove this field/,
  );
  assert.match(
    await problemOf('{ mine: { places: [{ token: "t" }] } }'),
    /not a list; write an object with one entry per name: \{ NAME: /,
  );
  assert.match(
    await problemOf('{ mine: { places: { a: { tokn: "t" } } } }'),
    /did you mean mine\.places\.a\.token\?/,
  );
});

for (const text of ["{ broken", "[]", '{ gateway: { auth: { token: "${UNSET}" } } ', "\u0000"]) {
  test(`a broken file stops no help and no command that has --url: ${JSON.stringify(text)}`, async () => {
    const home = temporaryDir("portico-broken-");
    writeFileSync(join(home, "portico.json"), text);
    for (const words of [
      ["--help"],
      [],
      ["help"],
      ["status", "--help"],
      ["hooks", "new", "--help"],
      ["channels", "--help"],
    ]) {
      const { code, stdout, stderr } = await porticoHere(home, words);
      assert.equal([code, stderr], [0, ""], words.join(" "));
      assert.match(stdout, "Usage: portico");
    }
    for (const words of [["status"], ["channels", "list"], ["hooks", "list"], ["logs"]]) {
      const { stderr } = await porticoHere(home, [
        ...words,
        "--url",
        "http://127.0.0.1:1",
        "--token",
        "t",
      ]);
      assert.is(
        stderr,
        "portico: No gateway answers at http://127.0.0.1:1. Start one with: portico start\n",
      );
    }
    const result = await porticoHere(home, [
      "hooks",
      "new",
      "x",
      "--event",
      "gateway:startup",
      "--url",
      "http://127.0.0.1:1",
      "--token",
      "t",
    ]);
    assert.is(result.code, 0, result.stderr);
    const { stdout: schema, stderr } = await porticoHere(home, ["config", "schema"]);
    assert.ok(
      schema === (await porticoHere(temporaryDir("portico-whole-"), ["config", "schema"])).stdout,
      stderr,
    );
    assert.match((await porticoHere(home, ["status"])).stderr, /^portico: portico\.json: .*\n$/);
  });
}

test("an empty --token is reported", async () => {
  const home = dirname((await openWith("{}")).file);
  for (const token of ["", " "])
    for (const command of ["status", "node"])
      assert.match(
        (await porticoHere(home, [command, "--token", token])).stderr,
        "--token must not be empty",
      );
});

test.run();
