/** Numbers of the configuration that nothing can be done with: each is refused by its key, before anything starts. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as assert from "uvu/assert";
import { porticoHere } from "../../support/portico.ts";
import { test } from "../../support/suite.ts";
import { temporaryDir } from "../../support/temporary.ts";

interface Schema {
  type?: string;
  minimum?: number;
  maximum?: number;
  properties?: Record<string, Schema>;
  patternProperties?: Record<string, Schema>;
  additionalProperties?: Schema | boolean;
  items?: Schema;
  anyOf?: Schema[];
}

/** Every number of the configuration, by its key; `*` stands for a name, `[]` for an entry of a list. */
function numbersIn(schema: Schema, key = ""): [key: string, schema: Schema][] {
  const at = (step: string) => (key === "" ? step : `${key}.${step}`);
  const rest = [...Object.values(schema.patternProperties ?? {}), schema.additionalProperties];
  return [
    ...(schema.type === "integer" || schema.type === "number"
      ? [[key, schema] as [string, Schema]]
      : []),
    ...Object.entries(schema.properties ?? {}).flatMap(([name, below]) =>
      numbersIn(below, at(name)),
    ),
    ...rest.flatMap((below) => (typeof below === "object" ? numbersIn(below, at("*")) : [])),
    ...(schema.items ? numbersIn(schema.items, `${key}[]`) : []),
    ...(schema.anyOf ?? []).flatMap((variant) => numbersIn(variant, key)),
  ];
}

const portico = (home: string, ...words: string[]) => porticoHere(home, ["config", ...words]);

async function numbers(): Promise<[key: string, schema: Schema][]> {
  const { stdout } = await portico(temporaryDir("portico-numbers-"), "schema");
  const all = numbersIn(JSON.parse(stdout) as Schema);
  assert.ok(all.length > 80, `only ${all.length} numbers were found`);
  return all;
}

/** They are compared with a clock, or kept beside what they are about: no timer waits for them. */
const NO_TIMER = new Set([
  "cron.jobs.*.schedule.everyMs",
  "cron.jobs.*.graceMs",
  "cron.jobs.*.jitterMs",
  "models.*.cache.ttlMs",
  "webhooks.rateLimit.windowMs",
  "webhooks.keys.*.rateLimit.windowMs",
]);
/** The maximum of Node's timers, less the time that is added to a time-out on the way. */
const LONGEST = 2e9;

test("every duration that a timer waits for says how long it may be, and is made by `timerMs`", async () => {
  const durations = (await numbers()).filter(([key]) =>
    /(?:Ms|Seconds|[tT]imeout)(?:\[\])?$/.test(key),
  );
  assert.ok(durations.length > 30, `only ${durations.length} durations were found`);
  const endless = durations.filter(
    ([key, { maximum = Infinity }]) => !NO_TIMER.has(key) && maximum > LONGEST,
  );
  assert.equal(endless, []);
  const unknownKeys = [...NO_TIMER].filter(
    (key) => !durations.some(([duration]) => duration === key),
  );
  assert.equal(unknownKeys, []);
});

test("every integer of the configuration has a bound that can be represented exactly", async () => {
  const uncountable = (await numbers()).filter(
    ([, { type, maximum = Infinity }]) => type === "integer" && maximum > Number.MAX_SAFE_INTEGER,
  );
  assert.equal(uncountable, []);
});

/** Compared, or handed on, and never counted with. */
const UNBOUNDED = [
  "agents.defaults.heartbeat.every",
  "channels.*.budget.usd",
  "channels.*.keepAlive",
  "channels.*.priority",
  "hooks.entries.*.priority",
  "models.*.params.max.*",
  "webhooks.mappings.*.match.*",
  "webhooks.mappings.*.match.*.in[]",
];

test("every other number has a bound, beyond which sums and times would be infinite", async () => {
  const endless = (await numbers()).filter(
    ([, { type, maximum }]) => type === "number" && maximum === undefined,
  );
  assert.equal([...new Set(endless.map(([key]) => key))].sort(), UNBOUNDED);
});

function homeWith(text: string): { home: string; file: string } {
  const home = temporaryDir("portico-numbers-");
  const file = join(home, "portico.json");
  writeFileSync(file, text);
  return { home, file };
}

/** A configuration with the value there, and what its surroundings need. */
const SURROUNDINGS: Record<string, object> = {
  channels: { provider: "echo" },
  mcp: { url: "http://127.0.0.1:1/mcp" },
  webhooks: { token: "webhook-token-0123456789" },
};

test("a duration beyond a timer's limit is refused with its key and the limit, wherever it occurs", async () => {
  const keys = [
    "gateway.shutdownTimeoutMs",
    "gateway.http.headersTimeoutMs",
    "gateway.http.bodyTimeoutMs",
    "gateway.nodes.heartbeatMs",
    "hooks.entries.x.timeoutMs",
    "agents.defaults.timeoutMs",
    "agents.defaults.retryDelayMs",
    "agents.defaults.heartbeat.cooldownMs",
    "agents.defaults.web.timeoutMs",
    "agents.list.x.timeoutMs",
    "browser.remoteCdpTimeoutMs",
    "browser.remoteCdpHandshakeTimeoutMs",
    "browser.launchTimeoutMs",
    "channels.x.timeoutMs",
    "channels.x.idleTimeoutMs",
    "channels.x.queueTimeoutMs",
    "channels.x.delayMs",
    "deliveries.timeoutMs",
    "mcp.servers.x.timeoutMs",
    "telemetry.flushMs",
    "usage.flushMs",
    "webhooks.transformTimeoutMs",
  ];
  const config: Record<string, unknown> = {};
  for (const key of keys) {
    const steps = key.split(".");
    let at = config;
    for (const step of steps.slice(0, -1)) {
      const fresh = step === "x" ? { ...SURROUNDINGS[steps[0]!] } : {};
      at[step] ??= fresh;
      at = at[step] as Record<string, unknown>;
    }
    at[steps.at(-1)!] = 3_000_000_000;
  }
  const { stderr, stdout, code } = await portico(homeWith(JSON.stringify(config)).home, "validate");
  assert.is(code, 1);
  const unnamed = keys.filter(
    (key) => !`${stdout}${stderr}`.includes(`${key} must be 2000000000 or less`),
  );
  assert.equal(unnamed, []);
});

for (const value of [
  "3000000000",
  "1e308",
  "1e21",
  "9007199254740992",
  "-1",
  "1.5",
  "soon",
  "null",
  "[]",
]) {
  test(`config set refuses ${value} for a timeout and for a count, names their keys, and leaves the file unchanged`, async () => {
    const { home, file } = homeWith("{ log: {} }");
    for (const key of ["agents.defaults.timeoutMs", "agents.defaults.maxConcurrentTurns"]) {
      if (key.endsWith("Turns") && value === "3000000000") continue;
      const { code, stderr } = await portico(home, "set", key, value);
      assert.is(code, 1, key);
      assert.match(stderr, `${key} must be `);
      assert.is(readFileSync(file, "utf8"), "{ log: {} }");
    }
  });
}

for (const every of [
  '"soon"',
  '""',
  '"1h30"',
  "-1",
  "1e21",
  "1e308",
  "NaN",
  `"${"y".repeat(100_000)}"`,
]) {
  test(`heartbeat.every: ${every.slice(0, 12)} is refused when the file is read, by its key and its line`, async () => {
    const { home } = homeWith(`{\n  agents: { defaults: { heartbeat: { every: ${every} } } },\n}`);
    const { code, stdout, stderr } = await portico(home, "validate");
    const output = `${stdout}${stderr}`;
    assert.is(code, 1);
    assert.match(
      output,
      /line 2: agents\.defaults\.heartbeat\.every is .*, which is (?:not a duration|longer than)/,
    );
    assert.ok(output.length < 1000, `${output.length} characters`);
  });
}

test("heartbeat.every accepts durations, milliseconds and 0", async () => {
  for (const every of ['"30m"', '"1h30m"', '"0"', "0", "3000000000", '"400d"']) {
    const { home } = homeWith(`{ agents: { defaults: { heartbeat: { every: ${every} } } } }`);
    const { code, stderr } = await portico(home, "validate");
    assert.is(code, 0, `${every}: ${stderr}`);
  }
});

test.run();
