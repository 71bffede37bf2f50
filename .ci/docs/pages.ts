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
  "clients",
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

/** Throws where a guide is not listed, since nobody would find it. */
export function writtenPages(): Page[] {
  refuseUnlistedGuides();
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

function refuseUnlistedGuides(): void {
  const files = readdirSync(join(packageDir, "plugins/docs/guides"));
  const unlisted = files.filter((file) => !guides.includes(file.replace(/\.md$/, "")));
  if (unlisted.length > 0)
    throw new Error(`.ci/docs/pages.ts does not list these guides: ${unlisted.join(", ")}`);
}

function pluginReadmes(): string[] {
  return readdirSync(join(packageDir, "plugins"))
    .filter((name) => existsSync(join(packageDir, "plugins", name, "README.md")))
    .sort();
}
