/** The list of written pages in the documentation, with the source and the address of each. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { packageDir } from "../build/common.ts";

export interface Page {
  /** The address below `/docs/`; `index` is `/docs` itself. */
  url: string;
  /** The source file, relative to the package; absent for generated pages. */
  source?: string;
  group: string;
  markdown: string;
}

/** The guides in their order in the navigation. */
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

const otherPages: readonly [url: string, source: string, group: string][] = [
  ["hooks", "kernel/hooks/README.md", "Extend"],
  ["write-plugins", "kernel/plugins/README.md", "Extend"],
  ["examples", "examples/README.md", "Extend"],
  ["deploy", "examples/deploy/README.md", "Guides"],
  ["security", "SECURITY.md", "Project"],
  ["changelog", "CHANGELOG.md", "Project"],
  ["contributing", "CONTRIBUTING.md", "Project"],
];

/** Reads the written pages. Throws if a guide is not listed, because nobody would find it. */
export function writtenPages(): Page[] {
  refuseUnlistedGuides();
  const sources = [
    ...guides.map((name) => [name, `plugins/docs/guides/${name}.md`, "Guides"] as const),
    ...otherPages,
    ...pluginReadmes().map(
      (name) => [`plugins/${name}`, `plugins/${name}/README.md`, "Plugins"] as const,
    ),
  ];
  return sources.map(([url, source, group]) => ({
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
