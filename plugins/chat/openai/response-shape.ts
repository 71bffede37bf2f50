/**
 * What the whole responses of a channel look like: nearly all differ in their id, text and counts only. One of a learned
 * shape is good as it is: it is told by one regular expression, and nothing but its usage is parsed.
 */
import type { Usage } from "portico/chat";

/** A response with a text, one that was cut, and one that is laid out otherwise. */
const MOST_SHAPES = 3;
/** Then the server writes each response in another way. */
const MOST_LEARNED = 12;
const LONGEST_SOURCE = 4000;
/** Of a response. The engine of regular expressions keeps a place for each escape, and throws when it has too many. */
const LONGEST_TEXT = 1024 * 1024;

const CHARS = String.raw`[^"\\\x00-\x1f]*(?:\\(?:["\\/bfnrt]|u[\da-fA-F]{4})[^"\\\x00-\x1f]*)*`;
const NUMBER = String.raw`(?:0|[1-9]\d{0,11})`;
/** The strings that may be others, and what each must be not to be mended. */
const STRINGS: Record<string, string> = {
  id: `"chatcmpl-[!#-\\[\\]-~]${CHARS}"`,
  model: `"[!#-\\[\\]-~]${CHARS}"`,
  content: `"${CHARS}"`,
  system_fingerprint: `"${CHARS}"`,
};
const TOKEN = /"(?:[^"\\]|\\.)*"|\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|[{}[\]]|[^"\d{}[\]]+/gs;

export class ResponseShapes {
  #shapes: RegExp[] = [];
  #learned = 0;

  /** The response needs no parser, and has this usage. `text`: its bytes, each a character. */
  match(text: string): { usage: Usage | undefined } | undefined {
    if (text.length > LONGEST_TEXT) return undefined;
    for (const shape of this.#shapes) {
      const found = shape.exec(text);
      if (found !== null)
        return { usage: found[1] === undefined ? undefined : (JSON.parse(found[1]) as Usage) };
    }
    return undefined;
  }

  /** Remembers a response that was parsed and needed no mending. */
  learn(text: string): void {
    if (this.#learned >= MOST_LEARNED || text.length > LONGEST_TEXT) return;
    this.#learned++;
    const source = sourceOf(text);
    if (source === undefined) return;
    const shape = new RegExp(source);
    if (shape.test(text)) this.#shapes = [shape, ...this.#shapes.slice(0, MOST_SHAPES - 1)];
  }
}

/** The expression of responses like this one; its only group is the usage. */
function sourceOf(text: string): string | undefined {
  let source = "";
  let key = "";
  /** The depth that the usage is at while it is gone through; -1 outside. */
  let usageAt = -1;
  let usages = 0;
  let depth = 0;
  const tokens = text.match(TOKEN) ?? [];
  for (let i = 0; i < tokens.length; i++) {
    const token = tokens[i]!;
    if (token.startsWith('"') && /^\s*:/.test(tokens[i + 1] ?? "")) {
      key = token.slice(1, -1);
      source += escaped(token);
    } else if (token.startsWith('"'))
      source += Object.hasOwn(STRINGS, key) ? STRINGS[key] : escaped(token);
    else if (/^\d+$/.test(token) && (key === "created" || usageAt !== -1)) source += NUMBER;
    else {
      const opens = token === "{" && key === "usage" && usageAt === -1;
      if (opens && ++usages > 1) return undefined;
      if (opens) usageAt = depth;
      if (token === "{" || token === "[") depth++;
      if (token === "}" || token === "]") depth--;
      source += opens ? `(${escaped(token)}` : escaped(token);
      if (token === "}" && depth === usageAt) {
        source += ")";
        usageAt = -1;
        key = "";
      }
    }
    if (source.length > LONGEST_SOURCE) return undefined;
  }
  return `^${source}$`;
}

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");
}
