/** Texts of the configuration that fit their type but are meaningless are refused by their key when the file is read. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import * as assert from "uvu/assert";
import { porticoHere } from "../../support/portico.ts";
import { test } from "../../support/suite.ts";
import { temporaryDir } from "../../support/temporary.ts";

async function validate(config: object): Promise<{ code: number | null; output: string }> {
  const home = temporaryDir("portico-texts-");
  writeFileSync(join(home, "portico.json"), JSON.stringify(config));
  const { code, stdout, stderr } = await porticoHere(home, ["config", "validate"]);
  return { code, output: `${stdout}${stderr}` };
}

const NO_NETWORK = "is neither an IP address nor a CIDR range such as 10.0.0.0/8";
const NO_ADDRESS = "must be an http or https address";
const hash = `sha256:${"0".repeat(64)}`;
const keyUntil = (expires: string) => ({ gateway: { keys: { k: { hash, expires } } } });
const hours = (activeHours: object) => ({ agents: { defaults: { heartbeat: { activeHours } } } });
const channel = (more: object) => ({ channels: { c: { provider: "openai", ...more } } });

const wrong: [key: string, says: string, config: object][] = [
  [
    "gateway.trustedProxies[1]",
    NO_NETWORK,
    { gateway: { trustedProxies: ["10.0.0.0/8", "10.0.0.0/99"] } },
  ],
  ["gateway.trustedProxies[0]", NO_NETWORK, { gateway: { trustedProxies: ["proxy.example"] } }],
  ["gateway.trustedProxies[0]", NO_NETWORK, { gateway: { trustedProxies: [""] } }],
  ["webhooks.allowedIps[0]", NO_NETWORK, { webhooks: { allowedIps: ["soon"] } }],
  ["gateway.keys.k.expires", "is not a date", keyUntil("2026-12-31Tsoon")],
  [
    "agents.defaults.heartbeat.activeHours",
    "begins and ends at 8:00",
    hours({ start: "8:00", end: "08:00" }),
  ],
  [
    "agents.defaults.heartbeat.activeHours.start",
    "must be a time of day",
    hours({ start: "24:30", end: "08:00" }),
  ],
  ["channels.c.baseUrl", NO_ADDRESS, channel({ baseUrl: "http://" })],
  ["channels.c.baseUrl", NO_ADDRESS, channel({ baseUrl: "http:///v1" })],
  ["channels.c.baseUrl", NO_ADDRESS, channel({ baseUrl: "http://host:99999/v1" })],
  ["channels.c.proxy", NO_ADDRESS, channel({ proxy: "http://:8080" })],
  ["mcp.servers.s.url", NO_ADDRESS, { mcp: { servers: { s: { url: "soon" } } } }],
  [
    "mcp.servers",
    'has an entry named "a b"',
    { mcp: { servers: { "a b": { url: "http://127.0.0.1/mcp" } } } },
  ],
  ["browser.profiles", 'has an entry named "../x"', { browser: { profiles: { "../x": {} } } }],
  [
    "browser.profiles",
    "has an entry named",
    { browser: { profiles: { ["y".repeat(100_000)]: {} } } },
  ],
  ["browser.cdpUrl", "must be an http, https, ws or wss address", { browser: { cdpUrl: "ws://" } }],
  [
    "nodeHost.gateway",
    "must be an http, https, ws or wss address",
    { nodeHost: { gateway: "http://" } },
  ],
  [
    "telemetry.otlp",
    "must be an http or https address",
    { telemetry: { otlp: "http://host:99999" } },
  ],
  [
    'usage.prices["a\\nb"]',
    "is not a known key",
    { usage: { prices: { "a\nb": { input: "x" } } } },
  ],
];
for (const [key, says, config] of wrong) {
  test(`${JSON.stringify(config).slice(0, 90)} is refused by its key`, async () => {
    const { code, output } = await validate(config);
    assert.is(code, 1);
    assert.match(output, `${key} ${says}`);
    assert.ok(output.length < 1000, `${output.length} characters`);
  });
}

test("unusual but meaningful texts are accepted", async () => {
  const { code, output } = await validate({
    gateway: {
      trustedProxies: ["10.0.0.1", "2001:db8::/32", " 127.0.0.1 "],
      ...keyUntil("2026-12-31").gateway,
    },
    webhooks: { allowedIps: ["192.0.2.0/24"] },
    ...hours({ start: "8:00", end: "24:00", tz: "Europe/Berlin" }),
    channels: {
      a: {
        provider: "openai",
        baseUrl: "http://[::1]:8000/v1",
        proxy: "http://user:pass@proxy.example:3128",
      },
      b: { provider: "openai", baseUrl: "https://under_score.example/v1/?x=1" },
    },
    mcp: { servers: { "a-b_2": { url: "https://mcp.example/mcp" } } },
    browser: { profiles: { "0-work": { cdpUrl: "wss://token@browser.example/?token=t" } } },
  });
  assert.is(code, 0, output);
});

test.run();
