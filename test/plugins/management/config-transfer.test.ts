/** `portico config export` and `import`, on the file and over HTTP. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as assert from "uvu/assert";
import { makeHome, startGateway } from "../../support/gateway.ts";
import { porticoHere } from "../../support/portico.ts";
import { suite } from "../../support/suite.ts";

const test = suite("config export and import");
const SECRET = "sk-live-0123456789abcdef";

const SOURCE = {
  channels: {
    main: { provider: "openai", apiKey: SECRET, weight: 2 },
    spare: { provider: "openai", apiKey: "${SPARE_KEY}", headers: { "x-api-key": SECRET } },
    local: { provider: "openai", baseUrl: `http://user:${SECRET}@127.0.0.1:9/v1` },
  },
  models: { fast: "main/gpt-4o-mini" },
};

function homeWith(config: unknown): string {
  const home = makeHome();
  writeFileSync(join(home, "portico.json"), JSON.stringify(config));
  writeFileSync(join(home, ".env"), "SPARE_KEY=sk-spare-0123456789\n", { mode: 0o600 });
  return home;
}

const stored = (home: string) => JSON.parse(readFileSync(join(home, "portico.json"), "utf8"));

test("an export contains references instead of secrets, and everything else", async () => {
  const home = homeWith(SOURCE);
  const { code, stdout } = await porticoHere(home, ["config", "export"]);
  assert.is(code, 0);
  assert.not.match(stdout, SECRET);
  const exported = JSON.parse(stdout);
  assert.is(exported.channels.main.apiKey, "${CHANNELS_MAIN_API_KEY}");
  assert.is(exported.channels.main.weight, 2);
  assert.is(exported.channels.spare.apiKey, "${SPARE_KEY}");
  assert.is(exported.channels.spare.headers["x-api-key"], "${CHANNELS_SPARE_HEADERS_X_API_KEY}");
  assert.is(exported.channels.local.baseUrl, "${CHANNELS_LOCAL_BASE_URL}");
  assert.equal(exported.models, SOURCE.models);
});

test("an import shows what would change, keeps secrets and removes what the file does not have", async () => {
  const source = homeWith(SOURCE);
  const exported = (await porticoHere(source, ["config", "export"])).stdout;
  const target = homeWith({
    gateway: { auth: { token: "the-targets-own-token-0123456789" } },
    channels: {
      main: { provider: "openai", apiKey: "sk-of-the-target-0123456789" },
      spare: { provider: "openai", headers: { "x-api-key": "own-header-0123456789" } },
      local: { provider: "openai", baseUrl: "http://127.0.0.1:9/v1" },
      old: { provider: "openai", apiKey: "sk-old-0123456789" },
    },
  });
  writeFileSync(join(target, "shared.json"), exported);
  const before = stored(target);

  const looked = await porticoHere(target, ["config", "import", "shared.json", "--dry-run"]);
  assert.is(looked.code, 0);
  assert.match(looked.stdout, "channels.old (removed)");
  assert.match(looked.stdout, "channels.main.weight (added)");
  assert.not.match(looked.stdout, "sk-o");
  assert.equal(stored(target), before);

  const unasked = await porticoHere(target, ["config", "import", "shared.json"]);
  assert.is(unasked.code, 1);
  assert.equal(stored(target), before);

  const imported = await porticoHere(target, ["config", "import", "shared.json", "--yes"]);
  assert.is(imported.code, 0);
  const after = stored(target);
  assert.is(after.gateway.auth.token, "the-targets-own-token-0123456789");
  assert.equal(after.channels.main, {
    provider: "openai",
    apiKey: "sk-of-the-target-0123456789",
    weight: 2,
  });
  assert.is(after.channels.spare.apiKey, "${SPARE_KEY}");
  assert.is(after.channels.spare.headers["x-api-key"], "own-header-0123456789");
  assert.not.ok("old" in after.channels);
  assert.equal(after.models, SOURCE.models);
  assert.is((await porticoHere(target, ["config", "undo"])).code, 0);
  assert.equal(stored(target).channels.old, before.channels.old);
});

test("a secret that is not yet present is named before anything is written", async () => {
  const exported = (await porticoHere(homeWith(SOURCE), ["config", "export"])).stdout;
  const target = homeWith({});
  writeFileSync(join(target, "shared.json"), exported);
  const refused = await porticoHere(target, ["config", "import", "shared.json", "--yes"]);
  assert.is(refused.code, 1);
  assert.match(refused.stderr, "CHANNELS_MAIN_API_KEY");
  assert.equal(stored(target), {});
});

test("an import over HTTP carries the version that it is based on", async () => {
  const gateway = await startGateway({ config: SOURCE, env: { SPARE_KEY: "sk-spare-0123456789" } });
  try {
    const response = await gateway.request("GET", "/kernel/config/export");
    const text = await response.text();
    assert.not.match(text, SECRET);
    const { configuration } = JSON.parse(text);
    configuration.channels.main.weight = 5;
    const path = "/kernel/config/import";
    assert.is((await gateway.request("POST", path, { configuration })).status, 428);
    const headers = { "if-match": response.headers.get("etag") ?? "" };
    const written = await gateway.request("POST", path, { configuration }, { headers });
    assert.is(written.status, 200);
    assert.is(stored(gateway.home).channels.main.weight, 5);
    assert.is(stored(gateway.home).channels.main.apiKey, SECRET);
    assert.is((await gateway.request("POST", path, { configuration }, { headers })).status, 412);

    const at = ["--url", gateway.url, "--token", gateway.token];
    const remote = await porticoHere(makeHome(), ["config", "export", ...at]);
    assert.is(JSON.parse(remote.stdout).channels.main.weight, 5);
  } finally {
    await gateway.stop();
  }
});

test.run();
