/** The configuration that each provider's README shows works as it stands once its variables are set. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import JSON5 from "json5";
import { test } from "../support/suite.ts";
import * as assert from "uvu/assert";
import { packageDir, startGateway } from "../support/gateway.ts";

const plugins = join(packageDir, "plugins");
const providers = readdirSync(plugins).filter(
  (name) => name.startsWith("provider-") && !["provider-echo", "provider-kit"].includes(name),
);

test("there are providers", () => {
  for (const name of ["anthropic", "gemini", "azure", "bedrock", "ollama", "mistral"]) {
    assert.ok(providers.includes(`provider-${name}`), name);
  }
});

for (const name of providers) {
  test(`${name}/README.md`, async () => {
    const readme = readFileSync(join(plugins, name, "README.md"), "utf8");
    const example = /```json5\n(.*?)```/s.exec(readme)?.[1];
    assert.ok(example, "it shows a configuration");
    const config = JSON5.parse(example) as { channels: Record<string, { models?: string[] }> };
    const variables = [...example.matchAll(/\$\{(\w+)\}/g)].map(([, variable]) => [
      variable,
      "a-key",
    ]);
    // Without `models`, a channel would ask its upstream for them.
    for (const channel of Object.values(config.channels)) channel.models ??= ["*"];
    const gateway = await startGateway({ config, env: Object.fromEntries(variables) });
    try {
      const listed = JSON.stringify(await gateway.json("GET", "/channels"));
      for (const channel of Object.keys(config.channels)) assert.match(listed, `"${channel}"`);
    } finally {
      await gateway.stop();
    }
  });
}

test.run();
