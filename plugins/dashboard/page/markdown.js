/**
 * Markdown as elements. The text comes from models and from outside: it never becomes markup, a link leads to a web
 * address only, and a picture is a link.
 */
import { h } from "./dom.js";

let library;

/** The library is loaded when the first text is shown; until then the text stands there as it is. */
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

/** A Markdown text as one line of plain text, for a list. */
export const plainText = (text) =>
  text
    .slice(0, 500)
    .replace(/```.*|!?\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replace(/^\s*([#>+-]|\d+\.)+\s|[*`|]|-{3,}/gm, " ")
    .replace(/\s+/g, " ")
    .trim();

/** Replaces what `root` shows. */
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

const paragraphOf = (token) => h("p", {}, token.tokens ? inline(token.tokens) : decoded(token.raw));

const BLOCKS = {
  space: () => " ",
  def: () => " ",
  heading: ({ depth, tokens }) => h(`h${Math.min(6, depth + 3)}`, {}, inline(tokens)),
  // A text with a block of its own, such as an item of a list without empty lines.
  text: (token) => h("span", {}, token.tokens ? inline(token.tokens) : decoded(token.text)),
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
  text: ({ text, tokens }) => (tokens ? h("span", {}, inline(tokens)) : decoded(text)),
  escape: ({ text }) => decoded(text),
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

/** The library leaves entities as they are written. */
function decoded(text) {
  return text.replace(
    /&(?:#(\d{1,7})|#x([\da-f]{1,6})|(\w{2,6}));/gi,
    (whole, decimal, hex, name) => {
      if (name) return ENTITIES[name.toLowerCase()] ?? whole;
      const code = decimal ? Number(decimal) : Number.parseInt(hex, 16);
      return code <= 0x10ffff ? String.fromCodePoint(code) : whole;
    },
  );
}
