import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as assert from "uvu/assert";
import { makeHome, startGateway } from "../../support/gateway.ts";
import { test } from "../../support/suite.ts";
import { until } from "../../support/until.ts";

test("a trace that cannot be written is a warning", async () => {
  const home = makeHome();
  mkdirSync(join(home, "state/gateway.json/in-the-way"), { recursive: true });
  const g = await startGateway({ home, config: {} });
  assert.ok(
    g.lines.some(
      (line) => line["level"] === "warn" && /commands cannot find/.test(String(line["msg"])),
    ),
  );
  assert.is((await g.json("GET", "/health")).status, "ok");
  await g.stop();
  rmSync(home, { recursive: true, force: true });
});

test("a token that is taken out of the configuration is replaced by a new one", async () => {
  const g = await startGateway({
    config: { gateway: { port: 0, auth: { token: "the-first-token" } } },
  });
  g.write("portico.json", "{ gateway: { port: 0 } } // mine");
  const token = await until("a new token in the file", () => {
    const [, newToken] =
      /token: "([\w-]{43})"/.exec(readFileSync(join(g.home, "portico.json"), "utf8")) ?? [];
    return newToken;
  });
  const statusOf = async (bearer: string) =>
    (await g.request("GET", "/v1/models", undefined, { token: bearer })).status;
  await until("the new token in force", async () => (await statusOf(token)) === 200);
  assert.is(await statusOf("the-first-token"), 401);
  assert.match(readFileSync(join(g.home, "portico.json"), "utf8"), "// mine");
  await g.stop();
});

test("a start that fails late leaves nothing running", async () => {
  const home = makeHome();
  let port = 0;
  try {
    await startGateway({
      home,
      port: 0,
      onLine(line) {
        if (line["msg"] !== "portico is running") return;
        port = line["port"] as number;
        throw new Error("standard output is gone");
      },
    });
    assert.unreachable("it started");
  } catch (error) {
    assert.is((error as Error).message, "standard output is gone");
  }
  await fetch(`http://127.0.0.1:${port}/health`).then(
    () => assert.unreachable("somebody answers"),
    (error: Error & { cause?: { code?: string } }) => assert.is(error.cause?.code, "ECONNREFUSED"),
  );
  assert.not(existsSync(join(home, "state/gateway.json")));
  rmSync(home, { recursive: true, force: true });
});

test("a section of the kernel that has another type is reported by its name", async () => {
  for (const [text, problem] of [
    ["{ gateway: null }", "gateway must be an object, not null"],
    ["{ gateway: { http: 5 } }", "gateway.http must be an object, not a number"],
    ["{ plugins: null }", "plugins must be an object, not null"],
    ["{ plugins: { entries: null } }", "plugins.entries must be an object, not null"],
    ["{ plugins: 5 }", "plugins must be an object, not a number"],
    ["{ hooks: [] }", "hooks must be an object, not a list"],
    ["{ log: null }", "log must be an object, not null"],
    [
      '{ gateway: { bind: "0.0.0.0" } }',
      "gateway.bind is 0.0.0.0, which other machines can reach: set gateway.auth.token or gateway.auth.password in the configuration first",
    ],
  ] as const) {
    const home = makeHome();
    writeFileSync(join(home, "portico.json"), text, { mode: 0o600 });
    const message = await startGateway({ home }).then(
      () => "it started",
      (error: Error) => error.message,
    );
    assert.is(message, `portico.json: line 1: ${problem}`);
    rmSync(home, { recursive: true, force: true });
  }
});

test.run();
