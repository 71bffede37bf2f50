/**
 * The table of rules in each provider's README is what its list says. `PORTICO_WRITE_TABLES=1 npm test -- provider-rules`
 * writes the tables anew.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as assert from "uvu/assert";
import { anthropicRules } from "../../plugins/provider-anthropic/rules.ts";
import { azureRules } from "../../plugins/provider-azure/rules.ts";
import { bedrockRules } from "../../plugins/provider-bedrock/rules.ts";
import { geminiRules } from "../../plugins/provider-gemini/rules.ts";
import { type RequestRule, rulesTable } from "../../plugins/provider-kit/index.ts";
import { mistralRules } from "../../plugins/provider-mistral/rules.ts";
import { ollamaRules } from "../../plugins/provider-ollama/rules.ts";
import { presets } from "../../plugins/provider-openai/presets.ts";
import { packageDir } from "../support/gateway.ts";
import { test } from "../support/suite.ts";

const lists: Record<string, readonly RequestRule[]> = {
  anthropic: anthropicRules,
  azure: azureRules,
  bedrock: bedrockRules,
  gemini: geminiRules,
  mistral: mistralRules,
  ollama: ollamaRules,
};

/** Each preset with its address and the names of its rules; then each rule once. */
function presetTables(): string {
  const rows = presets.map(({ name, baseUrl, rules, lists: listsModels }) => {
    const names = rules.map((rule) => `\`${rule.name}\``).join(", ");
    const more = listsModels === false ? "; lists no models, so set `models`" : "";
    return `| \`${name}\` | \`${baseUrl}\` | ${names}${more} |`;
  });
  const table = ["| provider | address | rules |", "|---|---|---|", ...rows].join("\n");
  const byRow = new Map(
    presets.flatMap(({ rules }) => rules).map((rule) => [rulesTable([rule]), rule]),
  );
  return `${table}\n\n${rulesTable([...byRow.values()])}`;
}

const tables: Record<string, string> = {
  ...Object.fromEntries(Object.entries(lists).map(([name, rules]) => [name, rulesTable(rules)])),
  openai: presetTables(),
};

const BEGIN = "<!-- rules: written from the list by test/plugins/provider-rules.test.ts -->";
const END = "<!-- end of rules -->";

for (const [name, table] of Object.entries(tables)) {
  test(`provider-${name}/README.md shows its rules`, () => {
    const path = join(packageDir, "plugins", `provider-${name}`, "README.md");
    const text = readFileSync(path, "utf8");
    const [before, rest] = text.split(BEGIN);
    const [rules, after] = rest?.split(END) ?? [];
    assert.ok(before !== undefined && after !== undefined, "it has a place for the table");
    if (process.env.PORTICO_WRITE_TABLES === "1")
      writeFileSync(path, `${before}${BEGIN}\n\n${table}\n\n${END}${after}`);
    else assert.is(rules?.trim(), table);
  });
}

test.run();
