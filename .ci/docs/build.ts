/** Builds the documentation: a static site with search, which the plugin `docs` serves at `/docs`. */
import { copyFileSync, cpSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { build } from "esbuild";
import type { PluginDefinition } from "../../kernel/contract/index.ts";
import { indexOptions } from "../../plugins/docs/site/search-options.ts";
import { common, outdir, packageDir } from "../build/common.ts";
import { apiPages } from "./api.ts";
import { addressOf, hrefOf } from "./links.ts";
import { type Page, writtenPages } from "./pages.ts";
import { referencePages } from "./reference.ts";

interface Section {
  title: string;
  anchor: string;
  text: string;
}

interface RenderedPage {
  page: Page;
  title: string;
  html: string;
  sections: readonly Section[];
  /** Additional words that people may type to find the page. */
  searchWords: string;
}

const site = join(packageDir, "plugins/docs/site");
const target = join(outdir, "docs");

/** Builds all pages and the search index. Throws if a page links to a page or a heading that does not exist. */
export async function buildDocs(definitions: readonly PluginDefinition[]): Promise<void> {
  const reference = Object.entries(await referencePages(definitions)).map(
    ([name, markdown]): Page => ({ url: `reference/${name}`, group: "Reference", markdown }),
  );
  const pages = [...writtenPages(), ...reference, ...apiPages()];
  const rendered = await renderPages(pages);
  checkLinks(rendered);
  mkdirSync(target, { recursive: true });
  for (const page of rendered) {
    const file = join(target, `${page.page.url}.html`);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, layout(page, rendered));
  }
  await writeSearch(rendered);
  copyFileSync(join(site, "style.css"), join(target, "style.css"));
  const pictures = join(packageDir, "plugins/docs/pictures");
  if (existsSync(pictures)) cpSync(pictures, join(target, "pictures"), { recursive: true });
}

async function renderPages(pages: readonly Page[]): Promise<RenderedPage[]> {
  const { default: MarkdownIt } = await import("markdown-it");
  const urlsBySource = new Map(pages.flatMap(({ source, url }) => (source ? [[source, url]] : [])));
  return pages.map((page) => {
    const markdown = new MarkdownIt({ html: false, linkify: false });
    const tokens = markdown.parse(withoutComments(page.markdown), {});
    const sections = readSections(tokens);
    for (const token of tokens)
      for (const child of token.children ?? []) rewriteLink(child, page, urlsBySource);
    const body = markdown.renderer.render(tokens, markdown.options, {});
    const html = body
      .replaceAll("<table>", '<div class="table"><table>')
      .replaceAll("</table>", "</table></div>");
    const title = sections[0]?.title ?? page.url;
    return { page, title, html, sections, searchWords: readSearchWords(page.markdown) };
  });
}

interface PageToken {
  type: string;
  content: string;
  attrSet(name: string, value: string): void;
}

/** Returns the sections of a page with their texts, for the search, and adds an anchor to each heading. */
function readSections(tokens: readonly PageToken[]): Section[] {
  const sections: Section[] = [];
  for (const [index, token] of tokens.entries()) {
    const next = tokens[index + 1];
    const section = sections.at(-1);
    if (token.type === "heading_open" && next) {
      const title = plainText(next.content);
      const anchor = createAnchor(title);
      token.attrSet("id", anchor);
      sections.push({ title, anchor, text: "" });
    } else if (section && (token.type === "inline" || token.type === "fence"))
      section.text += `${plainText(token.content)} `;
  }
  return sections;
}

interface LinkToken {
  type: string;
  attrGet(name: string): string | null;
  attrSet(name: string, value: string): void;
}

/** Rewrites a picture to the address next to the pages, and a link to the address that `hrefOf` returns. */
function rewriteLink(token: LinkToken, page: Page, urls: ReadonlyMap<string, string>): void {
  if (token.type === "image") {
    const source = token.attrGet("src") ?? "";
    token.attrSet("src", source.replace(/^.*pictures\//, "/docs/pictures/"));
    return;
  }
  if (token.type === "link_open")
    token.attrSet("href", hrefOf(token.attrGet("href") ?? "", page, urls));
}

/** Removes comments, such as the markers of generated tables. */
const withoutComments = (markdown: string): string => markdown.replace(/<!--[\s\S]*?-->\n?/g, "");

/** Returns the words of `<!-- search: words -->`: words of readers that the page itself does not use. */
const readSearchWords = (markdown: string): string =>
  /<!-- search: ([\s\S]*?) -->/.exec(markdown)?.[1] ?? "";

/** Removes Markdown's marks except underscores, which belong to names such as `max_tokens`. */
const plainText = (markdown: string): string =>
  markdown.replace(/\[([^\]]*)\]\([^)]*\)/g, "$1").replace(/[`*]/g, "");

/** Returns the anchor that GitHub would generate, so that links in the READMEs work in both places. */
const createAnchor = (title: string): string =>
  title
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s-]/gu, "")
    .trim()
    .replace(/\s/g, "-");

function checkLinks(pages: readonly RenderedPage[]): void {
  const anchors = new Map(
    pages.map(({ page, sections }) => [
      addressOf(page.url),
      new Set(sections.map(({ anchor }) => anchor)),
    ]),
  );
  const broken = pages.flatMap(({ page, html }) =>
    [...html.matchAll(/href="(\/docs[^"#]*|)(?:#([^"]*))?"/g)].flatMap(([, path = "", anchor]) => {
      const pageAnchors = anchors.get(path === "" ? addressOf(page.url) : path);
      const isValid =
        pageAnchors && (anchor === undefined || pageAnchors.has(decodeURIComponent(anchor)));
      return isValid ? [] : [`${page.source ?? page.url}: ${path}${anchor ? `#${anchor}` : ""}`];
    }),
  );
  if (broken.length > 0)
    throw new Error(`The documentation has broken links:\n${broken.join("\n")}`);
}

const groups = ["Guides", "Extend", "Reference", "API", "Plugins", "Project"];

function layout({ page, title, html }: RenderedPage, all: readonly RenderedPage[]): string {
  const navigation = groups
    .map((group) => {
      const links = all
        .filter((other) => other.page.group === group)
        .map((other) => {
          const current = other.page === page ? ' aria-current="page"' : "";
          return `<li><a href="${addressOf(other.page.url)}"${current}>${escapeHtml(other.title)}</a></li>`;
        });
      return `<h2>${group}</h2><ul>${links.join("")}</ul>`;
    })
    .join("");
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)} – Portico</title>
<link rel="stylesheet" href="/docs/style.css">
<script type="module" src="/docs/search.js"></script>
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<header>
<a class="home" href="/docs">Portico</a>
<div class="search" role="search">
<input id="query" type="search" placeholder="Search the documentation" aria-label="Search the documentation" autocomplete="off">
<ul id="results" aria-live="polite"></ul>
</div>
</header>
<div class="columns">
<nav aria-label="Pages">${navigation}</nav>
<main id="content">${html}</main>
</div>
</body>
</html>
`;
}

const escapeHtml = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");

async function writeSearch(pages: readonly RenderedPage[]): Promise<void> {
  const { default: MiniSearch } = await import("minisearch");
  const index = new MiniSearch(indexOptions);
  const documents = pages.flatMap(({ page, title, sections, searchWords }) =>
    sections.map((section, position) => ({
      id: `${page.url}#${section.anchor}`,
      title: section.title,
      text: section.text,
      words: position === 0 ? searchWords : "",
      page: title,
      group: page.group,
      url: `${addressOf(page.url)}#${section.anchor}`,
    })),
  );
  const unique = new Map(documents.map((document) => [document.id, document]));
  index.addAll([...unique.values()]);
  writeFileSync(join(target, "search.json"), JSON.stringify(index));
  await build({
    ...common,
    platform: "browser",
    target: "es2022",
    bundle: true,
    format: "esm",
    entryPoints: [join(site, "search.js")],
    outfile: join(target, "search.js"),
  });
}
