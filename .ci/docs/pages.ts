/** Which pages the documentation has: where each comes from, and what its address is. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { packageDir } from "../build/common.ts";

export interface Page {
  /** Below `/docs/`; `index` is `/docs` itself. */
  url: string;
  /** The file that it is made of, relative to the package; absent for what is generated. */
  source?: string;
  group: string;
  markdown: string;
}

/** Guides in the order in which they are listed. */
const guides = [
  "index",
  "start",
  "why-portico",
  "add-a-provider",
  "redact-answers",
  "fallback-and-budgets",
  "github-webhook",
  "stripe-webhook",
  "slack",
  "nginx-workers-postgresql",
  "postgresql",
  "upgrade",
  "back-up",
  "configuration",
  "surfaces",
  "troubleshooting",
];

const others: readonly [url: string, source: string, group: string][] = [
  ["hooks", "kernel/hooks/README.md", "Extend"],
  ["write-plugins", "kernel/plugins/README.md", "Extend"],
  ["examples", "examples/README.md", "Extend"],
  ["deploy", "examples/deploy/README.md", "Guides"],
  ["security", "SECURITY.md", "Project"],
  ["changelog", "CHANGELOG.md", "Project"],
  ["contributing", "CONTRIBUTING.md", "Project"],
];

export function writtenPages(): Page[] {
  const listed = [
    ...guides.map((name) => [name, `plugins/docs/guides/${name}.md`, "Guides"] as const),
    ...others,
    ...pluginReadmes().map(
      (name) => [`plugins/${name}`, `plugins/${name}/README.md`, "Plugins"] as const,
    ),
  ];
  return listed.map(([url, source, group]) => ({
    url,
    source,
    group,
    markdown: readFileSync(join(packageDir, source), "utf8"),
  }));
}

function pluginReadmes(): string[] {
  return readdirSync(join(packageDir, "plugins"))
    .filter((name) => existsSync(join(packageDir, "plugins", name, "README.md")))
    .sort();
}
