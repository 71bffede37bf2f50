/**
 * V8 cannot be interrupted reliably while it matches a regular expression: `(a?a?…){50}` holds the process up for
 * minutes, whatever the time limit. Patterns of outsiders are therefore matched here, in an engine with linear time,
 * and the validator only sees patterns that list the texts which match.
 */
import { ignoredKeyword, schemaMapKeyword } from "@cfworker/json-schema";
import { compileScriptPattern, type Pattern } from "./pattern.ts";

type Members = Record<string, unknown>;

/** The most characters of all texts that one pattern is replaced by. */
const MAX_LISTED_CHARS = 64 * 1024;
const MATCHES_NOTHING = "^(?!)";
/** Of draft 7; the validator applies it without listing it among the others. */
const OLD_MAP_KEYWORD = "dependencies";

/** A value has too much text for the patterns of its schema. */
export class TooMuchText extends Error {
  override name = "TooMuchText";
}

/** Makes copies of one schema whose patterns are safe to run on one value each. */
export class SafePatterns {
  readonly #compiled = new Map<string, Pattern>();
  readonly #matchesUnsupported: boolean;

  /** `matchesUnsupported` says whether a pattern that the engine does not support matches every text or none. */
  constructor({ matchesUnsupported }: { matchesUnsupported: boolean }) {
    this.#matchesUnsupported = matchesUnsupported;
  }

  /** The schema for this value; throws `TooMuchText`. */
  rewrite(schema: unknown, value: unknown): unknown {
    const texts = new Set<string>();
    collectTexts(value, texts);
    return this.#rewriteSchema(schema, [...texts]);
  }

  #rewriteSchema(schema: unknown, texts: readonly string[]): unknown {
    if (Array.isArray(schema)) return schema.map((entry) => this.#rewriteSchema(entry, texts));
    if (!isObject(schema)) return schema;
    const members = Object.entries(schema).map(([key, member]): [string, unknown] => {
      if (key === "pattern") return [key, this.#listMatches(member, texts)];
      if (key === "patternProperties") return [key, this.#rewriteProperties(member, texts)];
      if (Object.hasOwn(ignoredKeyword, key)) return [key, member];
      return [key, this.#rewriteMember(key, member, texts)];
    });
    return Object.fromEntries(members);
  }

  /** Names in a map of schemas are not keywords: a property may be called `pattern`. */
  #rewriteMember(key: string, member: unknown, texts: readonly string[]): unknown {
    const isMap = Object.hasOwn(schemaMapKeyword, key) || key === OLD_MAP_KEYWORD;
    if (!isMap || !isObject(member)) return this.#rewriteSchema(member, texts);
    const entries = Object.entries(member);
    return Object.fromEntries(
      entries.map(([name, schema]) => [name, this.#rewriteSchema(schema, texts)]),
    );
  }

  /** Each name that occurs in the value and matches gets a pattern of its own. */
  #rewriteProperties(member: unknown, texts: readonly string[]): unknown {
    if (!isObject(member)) return member;
    const schemasByName = new Map<string, unknown[]>();
    for (const [pattern, schema] of Object.entries(member)) {
      const rewritten = this.#rewriteSchema(schema, texts);
      for (const name of this.#matching(pattern, texts)) {
        const schemas = schemasByName.get(name) ?? [];
        schemasByName.set(name, [...schemas, rewritten]);
      }
    }
    const entries = [...schemasByName].map(([name, allOf]) => [listTexts([name]), { allOf }]);
    return Object.fromEntries(entries);
  }

  #listMatches(pattern: unknown, texts: readonly string[]): unknown {
    return typeof pattern === "string" ? listTexts(this.#matching(pattern, texts)) : undefined;
  }

  #matching(pattern: string, texts: readonly string[]): string[] {
    return texts.filter((text) => this.#compile(pattern)(text));
  }

  #compile(source: string): Pattern {
    let pattern = this.#compiled.get(source);
    if (pattern === undefined) {
      pattern = this.#compileOrReplace(source);
      this.#compiled.set(source, pattern);
    }
    return pattern;
  }

  #compileOrReplace(source: string): Pattern {
    try {
      return compileScriptPattern(source);
    } catch {
      return () => this.#matchesUnsupported;
    }
  }
}

/** A pattern for exactly these texts. */
function listTexts(texts: readonly string[]): string {
  if (texts.length === 0) return MATCHES_NOTHING;
  const length = texts.reduce((sum, text) => sum + text.length, 0);
  if (length > MAX_LISTED_CHARS)
    throw new TooMuchText(`its patterns apply to more than ${MAX_LISTED_CHARS} characters`);
  return `^(?:${texts.map(escapeText).join("|")})$`;
}

function escapeText(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
}

/** Every text in the value, names of members included. */
function collectTexts(value: unknown, texts: Set<string>): void {
  if (typeof value === "string") texts.add(value);
  if (typeof value !== "object" || value === null) return;
  for (const [name, member] of Object.entries(value)) {
    if (!Array.isArray(value)) texts.add(name);
    collectTexts(member, texts);
  }
}

function isObject(value: unknown): value is Members {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
