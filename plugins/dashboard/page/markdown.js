/**
 * Renders Markdown as elements. The text comes from models and from outside, so it never becomes markup, links lead only to
 * web and mail addresses, and an image becomes a link.
 */
import { h } from "./dom.js";

let library;

/** Loads the library when the first text is shown. Until then, the page shows the source text. */
function loadLibrary() {
  library ??= import("./marked/marked.esm.js").then((loaded) => {
    library = loaded;
    return loaded;
  });
  return library;
}

export function markdown(text) {
  const root = h("div", { class: "text" });
  showMarkdown(root, text);
  return root;
}

/** Returns a Markdown text as one line of plain text, for a list. */
export const plainText = (text) =>
  text
    .slice(0, 500)
    .replace(/```.*|!?\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replace(/^\s*([#>+-]|\d+\.)+\s|[*`|]|-{3,}/gm, " ")
    .replace(/\s+/g, " ")
    .trim();

/** Replaces the content of `root` by a Markdown text. */
export function showMarkdown(root, text) {
  root.source = text;
  const loaded = loadLibrary();
  if (loaded instanceof Promise) {
    root.textContent = text;
    const retry = () => root.source === text && showMarkdown(root, text);
    loaded.then(retry, () => {});
    return;
  }
  root.classList.add("markdown");
  root.replaceChildren(...blocksOf(loaded.lexer(text)));
}

const blocksOf = (tokens) => tokens.map(blockOf).filter(Boolean);

function blockOf(token) {
  return BLOCKS[token.type]?.(token) ?? paragraphOf(token);
}

const paragraphOf = (token) =>
  h("p", {}, token.tokens ? inline(token.tokens) : decodeEntities(token.raw));

const BLOCKS = {
  space: () => " ",
  def: () => " ",
  heading: ({ depth, tokens }) => h(`h${Math.min(6, depth + 3)}`, {}, inline(tokens)),
  // A text without a paragraph, such as an item of a list without empty lines.
  text: (token) => h("span", {}, token.tokens ? inline(token.tokens) : decodeEntities(token.text)),
  code: ({ text, lang }) => h("pre", { tabindex: "0", "data-language": lang || null }, text),
  blockquote: ({ tokens }) => h("blockquote", {}, blocksOf(tokens)),
  hr: () => h("hr"),
  html: ({ raw }) => h("p", {}, raw),
  list: ({ ordered, start, items }) =>
    h(ordered ? "ol" : "ul", { start: ordered && start !== 1 ? start : null }, items.map(itemOf)),
  table: ({ header, rows }) => {
    const titles = header.map(({ text }) => text);
    const cellOf = (cell, i) =>
      h("td", { "data-title": titles[i] }, h("div", {}, inline(cell.tokens)));
    const head = header.map((cell) => h("th", { scope: "col" }, inline(cell.tokens)));
    const lines = rows.map((row) => h("tr", {}, row.map(cellOf)));
    return h("table", {}, h("thead", {}, h("tr", {}, head)), h("tbody", {}, lines));
  },
};

function itemOf({ task, checked, tokens }) {
  const mark = task ? (checked && "☑ ") || "☐ " : null;
  return h("li", {}, mark, blocksOf(tokens));
}

const inline = (tokens = []) => tokens.map((token) => INLINES[token.type]?.(token) ?? token.raw);

const INLINES = {
  text: ({ text, tokens }) => (tokens ? h("span", {}, inline(tokens)) : decodeEntities(text)),
  escape: ({ text }) => decodeEntities(text),
  strong: ({ tokens }) => h("strong", {}, inline(tokens)),
  em: ({ tokens }) => h("em", {}, inline(tokens)),
  del: ({ tokens }) => h("del", {}, inline(tokens)),
  codespan: ({ text }) => h("code", {}, text),
  br: () => h("br"),
  link: ({ href, tokens }) => linkTo(href, inline(tokens)),
  image: ({ href, text }) => linkTo(href, `[picture: ${text || href}]`),
};

function linkTo(address, content) {
  if (!isWebAddress(address)) return h("span", {}, content);
  return h("a", { href: address, target: "_blank", rel: "noopener noreferrer" }, content);
}

function isWebAddress(text) {
  try {
    return ["http:", "https:", "mailto:"].includes(new URL(text).protocol);
  } catch {
    return false;
  }
}

const ENTITIES = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: "\u00a0" };

/** Decodes entities, which the library leaves unchanged. */
function decodeEntities(text) {
  return text.replace(
    /&(?:#(\d{1,7})|#x([\da-f]{1,6})|(\w{2,6}));/gi,
    (whole, decimal, hex, name) => {
      if (name) return ENTITIES[name.toLowerCase()] ?? whole;
      const code = decimal ? Number(decimal) : Number.parseInt(hex, 16);
      return code <= 0x10ffff ? String.fromCodePoint(code) : whole;
    },
  );
}
