/** Entries that a start would skip are named by `validate`, refused by `set`, and shown by `status` and `doctor`. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as assert from "uvu/assert";
import { makeHome, startGateway } from "../../support/gateway.ts";
import { porticoHere } from "../../support/portico.ts";
import { suite } from "../../support/suite.ts";

const test = suite("faults of the configuration");

const HASH = `sha256:${"0".repeat(64)}`;
const base = {
  channels: {
    main: { provider: "echo" },
    listed: { provider: "openai", baseUrl: "http://127.0.0.1:9/v1", models: ["gpt-4o*"] },
  },
  models: { fast: "main/echo", known: { targets: ["listed/gpt-9", "gpt-4o-mini", "fast"] } },
  webhooks: { token: "token-of-webhooks-1" },
};
const systemEvent = { kind: "systemEvent", text: "x" };
const turn = (model: string) => ({ kind: "agentTurn", message: "x", model });
const poll = (source: object, more: object = {}) => ({ source, ...more });

/** Invalid delivery targets, at every key that can have a delivery. */
function deliveryTo(url: string): [string, unknown, string][] {
  const payload = { kind: "agentTurn", message: "x", delivery: { url } };
  const source = { kind: "http", url: "https://example.com" };
  return [
    ["cron.jobs.a", { schedule: "@daily", payload }, "cron.jobs.a.payload.delivery"],
    ["polls.entries.a", poll(source, { payload }), "polls.entries.a.payload"],
    ["webhooks.mappings.a", { message: "x", delivery: { url } }, "webhooks.mappings.a"],
  ];
}

/** A key, a value that would be left out, and the key that names the fault. */
const FAULTS: [string, unknown, string][] = [
  ["channels.odd", { provider: "opnai" }, "channels.odd.provider"],
  ["models.wrong", "mian/gpt-4o", "models.wrong"],
  ["models.wrong", { targets: ["main/x", "mian/gpt-4o"] }, "models.wrong.targets[1]"],
  ["models.wrong", "gpt-nowhere", "models.wrong"],
  ["models.wrong", "wrong", "models.wrong"],
  ["models.fast", { targets: ["known"] }, "models.fast"],
  ["agents.defaults.model", "gpt-nowhere", "agents.defaults.model"],
  ["agents.defaults.channel", "mian", "agents.defaults.channel"],
  ["agents.list.poet", { model: "mian/x" }, "agents.list.poet.model"],
  ["agents.list.poet", { channel: "mian" }, "agents.list.poet.channel"],
  [
    "cron.jobs.a",
    { schedule: "@daily", payload: { ...turn("main/x"), channel: "mian" } },
    "cron.jobs.a.payload.channel",
  ],
  [
    "polls.entries.a",
    poll(
      { kind: "http", url: "https://example.com" },
      { payload: { kind: "agentTurn", message: "x", channel: "mian" } },
    ),
    "polls.entries.a.payload.channel",
  ],
  [
    "polls.entries.a",
    poll(
      { kind: "http", url: "https://example.com" },
      { payload: { kind: "systemEvent", text: "{itm.title}" } },
    ),
    "polls.entries.a.payload.text",
  ],
  ...["data..x", "a[", ".a", "a."].map((items): [string, unknown, string] => [
    "polls.entries.a",
    poll({ kind: "json", url: "https://example.com", items }),
    "polls.entries.a.source.items",
  ]),
  [
    "webhooks.mappings.a",
    { message: "x", match: { "body.a..b": 1 } },
    'webhooks.mappings.a.match["body.a..b"]',
  ],
  ["webhooks.mappings.a", { message: "{body.a[}" }, "webhooks.mappings.a.message"],
  [
    "cron.jobs.a",
    { schedule: "@daily", payload: { ...turn("main/x"), agent: "nobody" } },
    "cron.jobs.a.payload.agent",
  ],
  [
    "polls.entries.a",
    poll(
      { kind: "http", url: "https://example.com" },
      { payload: { kind: "agentTurn", message: "x", agent: "nobody" } },
    ),
    "polls.entries.a.payload.agent",
  ],
  ["webhooks.mappings.a", { message: "x", channel: "mian" }, "webhooks.mappings.a.channel"],
  ["webhooks.mappings.a", { message: "x", model: "mian/x" }, "webhooks.mappings.a.model"],
  ["models.wrong", "agent/nobody", "models.wrong"],
  ["gateway.keys.ci", { hash: HASH, models: ["fast", "gpt-nowhere"] }, "gateway.keys.ci.models[1]"],
  ["gateway.keys.ci", { hash: HASH, models: ["mian/*"] }, "gateway.keys.ci.models[0]"],
  ["gateway.tls", { cert: "/nowhere/c.pem", key: "/nowhere/k.pem" }, "gateway.tls.cert"],
  ["cron.jobs.a", { schedule: "61 * * * *", payload: systemEvent }, "cron.jobs.a.schedule"],
  [
    "cron.jobs.a",
    { schedule: { kind: "cron", expr: "0 8 * * *", tz: "Europe/Berln" }, payload: systemEvent },
    "cron.jobs.a.schedule.tz",
  ],
  ["cron.jobs.a", { schedule: "@daily", payload: turn("mian/x") }, "cron.jobs.a.payload.model"],
  ...["http://169.254.169.254/", "https://{result}.example/", "nonsense"].flatMap(deliveryTo),
  ["polls.entries.a", poll({ kind: "http", url: "file:///etc/passwd" }), "polls.entries.a"],
  ["polls.entries.a", poll({ kind: "http" }), "polls.entries.a.source.url"],
  [
    "polls.entries.a",
    poll({ kind: "html", url: "https://example.com", selector: "[[" }),
    "polls.entries.a.source.selector",
  ],
  [
    "polls.entries.a",
    poll({ kind: "http", url: "https://example.com" }, { every: "5x" }),
    "polls.entries.a",
  ],
  [
    "polls.entries.a",
    poll({ kind: "http", url: "https://example.com" }, { every: "50ms" }),
    "polls.entries.a.every",
  ],
  [
    "polls.entries.a",
    poll({ kind: "http", url: "https://example.com" }, { every: "5m", schedule: "@daily" }),
    "polls.entries.a.every",
  ],
  [
    "polls.entries.a",
    poll(
      { kind: "http", url: "https://example.com" },
      { payload: { kind: "agentTurn", message: "x", delivery: "announce" } },
    ),
    "polls.entries.a.payload.delivery",
  ],
  [
    "polls.entries.a",
    poll({ kind: "http", url: "https://example.com" }, { schedule: { kind: "nope" } }),
    "polls.entries.a.schedule",
  ],
  [
    "polls.entries.a",
    poll({ kind: "http", url: "https://example.com" }, { payload: { kind: "bogus" } }),
    "polls.entries.a.payload",
  ],
  [
    "polls.entries.a",
    poll({ kind: "http", url: "https://example.com" }, { payload: { kind: "agentTurn" } }),
    "polls.entries.a.payload.message",
  ],
  ["webhooks.mappings.events", { message: "x" }, "webhooks.mappings.events"],
  ["webhooks.mappings.a", { message: "{bdy.id}" }, "webhooks.mappings.a.message"],
  [
    "webhooks.mappings.a",
    { message: "x", match: { "body.x": { regex: "(" } } },
    'webhooks.mappings.a.match["body.x"]',
  ],
  ["webhooks.mappings.a", { message: "x", model: "mian/x" }, "webhooks.mappings.a.model"],
  [
    "webhooks.keys.ci",
    { token: "token-of-ci-12", models: ["gpt-nowhere"] },
    "webhooks.keys.ci.models[0]",
  ],
  ["mcp.servers.none", {}, "mcp.servers.none"],
];

const homeWith = (config: object): string => {
  const home = makeHome();
  writeFileSync(join(home, "portico.json"), JSON.stringify(config));
  return home;
};

/** The whole configuration with a value at a key. */
function withValue(key: string, value: unknown): object {
  const whole = structuredClone(base) as Record<string, any>;
  const steps = key.split(".");
  const last = steps.pop() as string;
  let here = whole;
  for (const step of steps) here = here[step] ??= {};
  here[last] = value;
  return whole;
}

test("without a gateway, validate names each, and set refuses each and writes nothing", async () => {
  const home = homeWith(base);
  const fine = await porticoHere(home, ["config", "validate"]);
  assert.is(fine.code, 0, fine.stderr);
  for (const [key, value, at] of FAULTS) {
    const file = join(home, "other.json");
    writeFileSync(file, JSON.stringify(withValue(key, value)));
    const judged = await porticoHere(home, ["config", "validate", file, "--json"]);
    assert.is(judged.code, 1, `${key} ${JSON.stringify(value)}`);
    const keys = JSON.parse(judged.stdout).problems.map(({ key }: { key: string }) => key);
    assert.ok(
      keys.some((each: string) => each.startsWith(at)),
      `${at} is not among ${keys.join(", ")}`,
    );
    const set = await porticoHere(home, ["config", "set", key, JSON.stringify(value)]);
    assert.is(set.code, 1, `${key} ${JSON.stringify(value)} was set`);
    assert.match(set.stderr, at);
  }
  assert.is((await porticoHere(home, ["config", "history", "--json"])).code, 0);
});

test("a running gateway refuses each fault over HTTP, and continues", async () => {
  const gateway = await startGateway({ config: base });
  try {
    for (const [key, value, at] of FAULTS) {
      const { version } = await gateway.json("GET", "/kernel/config");
      const headers = { "if-match": `"${version}"` };
      const body = { key, value };
      const response = await gateway.request("POST", "/kernel/config", body, { headers });
      assert.is(response.status, 400, `${key} ${JSON.stringify(value)}`);
      assert.match(await response.text(), JSON.stringify(at).slice(1, -1));
      assert.is((await gateway.json("GET", "/kernel/config")).version, version);
    }
  } finally {
    await gateway.stop();
  }
});

test("the command line refuses what the running gateway knows to be wrong, even with a plugin that declares no names", async () => {
  const plugin = `import { definePlugin } from "portico";
export default definePlugin({
  name: "acme",
  setup(ctx) {
    ctx.add("provider", { name: "acme", complete: async () => "Hello" });
  },
});`;
  const gateway = await startGateway({ config: base, files: { "plugins/acme/plugin.ts": plugin } });
  const file = join(gateway.home, "portico.json");
  const set = (value: unknown) =>
    porticoHere(gateway.home, ["config", "set", "channels.odd", JSON.stringify(value)]);
  try {
    const before = readFileSync(file, "utf8");
    const refused = await set({ provider: "opnai" });
    assert.is(refused.code, 1);
    assert.match(refused.stderr, "channels.odd.provider");
    assert.match(refused.stderr, "did you mean openai");
    assert.is(readFileSync(file, "utf8"), before);
    assert.equal(await set({ provider: "acme" }), {
      code: 0,
      stdout: "Set channels.odd.\n",
      stderr: "",
    });
  } finally {
    await gateway.stop();
  }
});

test("faulty entries at the start are skipped, and status and doctor name them", async () => {
  const config = {
    ...base,
    channels: { ...base.channels, odd: { provider: "opnai" } },
    models: { wrong: "mian/gpt-4o" },
    agents: { defaults: { model: "odd/x" }, list: { poet: { model: "mian/x" } } },
    cron: { jobs: { a: { schedule: "61 * * * *", payload: systemEvent } } },
    polls: { entries: { a: poll({ kind: "http", url: "file:///etc/passwd" }) } },
    webhooks: { ...base.webhooks, mappings: { t: { message: "{bdy.id}" } } },
    mcp: { servers: { none: {} } },
  };
  const gateway = await startGateway({ config });
  const keys = [
    "channels.odd.provider",
    "models.wrong",
    "agents.list.poet.model",
    "cron.jobs.a.schedule",
    "polls.entries.a",
    "webhooks.mappings.t.message",
    "mcp.servers.none",
  ];
  try {
    const { notices } = await gateway.json("GET", "/kernel/status");
    const texts = notices
      .filter(({ from }: { from: string }) => from === "configuration")
      .map(({ text }: { text: string }) => text)
      .join("\n");
    for (const key of keys) assert.match(texts, key);
    const doctor = await porticoHere(gateway.home, ["doctor", "--json"]);
    for (const key of keys) assert.match(doctor.stdout, key);
    // Existing faults prevent neither other changes nor the repair of one of several faults.
    const set = (...words: string[]) => porticoHere(gateway.home, ["config", "set", ...words]);
    assert.is((await set("log.level", "warn")).code, 0);
    assert.is((await set("cron.jobs.a.schedule", "0 8 * * *")).code, 0);
    const after = JSON.stringify((await gateway.json("GET", "/kernel/status")).notices);
    assert.not.match(after, "cron.jobs.a");
    assert.match(after, "models.wrong");
  } finally {
    await gateway.stop();
  }
});

test("all faults are reported, not only the first", async () => {
  const home = homeWith({ ...base, models: { a: "x1/y", b: "x2/y" } });
  const { code, stdout } = await porticoHere(home, ["config", "validate"]);
  assert.is(code, 1);
  assert.match(stdout, /models\.a .*\n.*models\.b /);
});

test("the hint for an unknown key considers its siblings first, and never suggests a distant key for a deep one", async () => {
  const home = makeHome();
  const delivery = (key: string) => ({
    mappings: { a: { message: "x", delivery: { url: "https://example.com", [key]: "x" } } },
  });
  const cases: [object, string | undefined][] = [
    [{ webhooks: delivery("secrte") }, "webhooks.mappings.a.delivery.secret"],
    [{ webhooks: delivery("token") }, undefined],
    [{ gateway: { timeout: 5 } }, "gateway.shutdownTimeoutMs"],
    [{ channels: { main: { provider: "echo", port: 1 } } }, undefined],
    [{ port: 1 }, "gateway.port"],
  ];
  for (const [config, nearest] of cases) {
    const file = join(home, "other.json");
    writeFileSync(file, JSON.stringify(config));
    const { stdout } = await porticoHere(home, ["config", "validate", file, "--json"]);
    const [problem] = JSON.parse(stdout).problems;
    assert.is(problem.nearest, nearest, stdout);
  }
});

test("the names that providers declare are those that they add", async () => {
  const gateway = await startGateway({ config: {} });
  try {
    const added = gateway.gateway.list("provider" as never) as readonly { name: string }[];
    const { names, isComplete } = gateway.gateway.plugins.declaredNames("provider");
    assert.ok(isComplete);
    assert.equal([...names].sort(), added.map(({ name }) => name).sort());
    const builtIn = gateway.gateway.plugins.declaredNames("builtinChannel").names;
    const channels = added.flatMap(
      (each) => (each as { builtinChannel?: string }).builtinChannel ?? [],
    );
    assert.equal([...builtIn].sort(), channels.sort());
  } finally {
    await gateway.stop();
  }
});

test("a broken .env is named with its own line, not as a fault of the configuration file", async () => {
  const home = homeWith(base);
  writeFileSync(join(home, ".env"), 'GOOD=1\nBAD="a" b\n', { mode: 0o600 });
  const judged = await porticoHere(home, ["config", "validate"]);
  assert.is(judged.code, 1);
  assert.match(judged.stderr, ".env: line 2");
  assert.not.match(judged.stderr, "portico.json");
});

test.run();
