import { readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import { makeHome, startGateway } from "../../support/gateway.ts";
import { porticoHere } from "../../support/portico.ts";
import { until } from "../../support/until.ts";

interface Status {
  config: { problem?: { message: string; line?: number } };
}

test("a token is created at the first start, stored with mode 0600, and used by later starts", async () => {
  const home = makeHome();
  const file = join(home, "portico.json");
  const first = await startGateway({ home, port: 0 });
  assert.ok(first.gateway.tokenIsNew);
  assert.match(readFileSync(file, "utf8"), first.token);
  assert.is(statSync(file).mode & 0o777, 0o600);
  assert.is(statSync(home).mode & 0o777, 0o700);
  await first.stop();
  const second = await startGateway({ home, port: 0 });
  assert.not.ok(second.gateway.tokenIsNew);
  assert.is(second.token, first.token);
  await second.stop();
});

test("a changed file is applied while the gateway runs; a broken one is reported and changes nothing", async () => {
  const gateway = await startGateway({ config: { gateway: { port: 0, auth: { token: "one" } } } });
  const status = () => gateway.json<Status>("GET", "/kernel/status");
  const write = (text: string) => gateway.write("portico.json", text);
  write('{\n  gateway: { port: 0, auth: { token: "one" } },\n  nonsense: 1,\n}');
  const { problem } = (await until("the problem", async () => {
    const { config } = await status();
    return config.problem && config;
  })) as Status["config"];
  assert.is(problem?.line, 3);
  assert.match(problem!.message, "nonsense is not a known key");
  assert.ok(gateway.lines.some((line) => line["line"] === 3 && line["level"] !== "info"));
  write('{ gateway: { port: 0, auth: { token: "two" } } }');
  await until("the new token", async () => {
    const response = await gateway.request("GET", "/kernel/status", undefined, { token: "two" });
    return response.status === 200;
  });
  assert.is((await gateway.request("GET", "/kernel/status")).status, 401);
  await gateway.stop();
});

test("a mistake in the file prevents the start and is reported", async () => {
  const cases: [config: Record<string, unknown>, says: string][] = [
    [
      { gateway: { port: 0, auth: { token: "${PORTICO_NOT_SET}" } } },
      "gateway.auth.token refers to the environment variable PORTICO_NOT_SET",
    ],
    [{ gateway: { port: "x" } }, "gateway.port must be a whole number"],
    [{ gatewya: {} }, "gatewya is not a known key; did you mean gateway?"],
    [{ gateway: { port: 0, bind: "0.0.0.0" } }, "gateway.auth"],
  ];
  for (const [config, message] of cases) {
    try {
      const gateway = await startGateway({ config });
      await gateway.stop();
      assert.unreachable(`it started with ${JSON.stringify(config)}`);
    } catch (error) {
      assert.match((error as Error).message, message);
    }
  }
});

test("a change of a .env variable that only a hook requires is applied too", async () => {
  const gateway = await startGateway({
    files: {
      "hooks/e/HOOK.md":
        "---\nevents: [message:received]\nrequires: { env: [LATER_IN_ENV] }\n---\n",
      "hooks/e/handler.ts": "export default (event, ctx) => ({ reply: ctx.env.LATER_IN_ENV });",
    },
  });
  const state = (wanted: string) => () => gateway.gateway.hooks.info("e").state === wanted;
  const events: string[] = [];
  gateway.gateway.bus.onAny(({ name }) => void events.push(name));
  assert.ok(state("ineligible")());
  const file = join(gateway.home, ".env");
  writeFileSync(file, "LATER_IN_ENV=here\n", { mode: 0o600 });
  await until("the variable", state("active"));
  rmSync(file);
  await until("its end", state("ineligible"));
  assert.not(events.includes("config:changed"), "no key has changed");
  await gateway.stop();
});

test("config set leaves the file as it was where the running gateway refuses the value", async () => {
  const gateway = await startGateway({ config: { agents: { defaults: { maxSteps: 5 } } } });
  const file = join(gateway.home, "portico.json");
  const before = readFileSync(file, "utf8");
  const set = (...words: string[]) => porticoHere(gateway.home, ["config", "set", ...words]);
  // The gateway may have a variable that the command has not: it is the one to judge.
  for (const words of [
    ["agents.defaults.model", "${NOT_SET_ANYWHERE}"],
    ["log.level", "loud"],
    ["gateway.auth.token", ""],
  ]) {
    const { code, stderr } = await set(...words);
    assert.is(code, 1, words.join(" "));
    assert.match(
      stderr,
      /^portico: .*(rejected the change.*NOT_SET_ANYWHERE|must be|must not be empty)/,
    );
    assert.is(readFileSync(file, "utf8"), before);
  }
  assert.is(gateway.gateway.config.problem, undefined);
  assert.is((await set("agents.defaults.maxSteps", "7")).code, 0);
  assert.match(readFileSync(file, "utf8"), '"maxSteps": 7');
  // What was broken before may be mended one fault at a time.
  gateway.write(
    "portico.json",
    readFileSync(file, "utf8").replace('"maxSteps": 7', '"maxSteps": "x", "maxStps": 1'),
  );
  await until("the problem", () => gateway.gateway.config.problem);
  assert.match(
    (await set("agents.defaults.maxSteps", "8")).stderr,
    "Saved, but the running gateway rejected it",
  );
  assert.match(readFileSync(file, "utf8"), '"maxSteps": 8');
  await gateway.stop();
});

test.run();
