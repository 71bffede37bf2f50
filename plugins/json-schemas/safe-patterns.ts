/**
 * V8 cannot be interrupted reliably while it matches a regular expression: `(a?a?…){50}` blocks the process for minutes,
 * whatever the time limit. Untrusted patterns are therefore matched here, in a linear-time engine, and the validator only
 * receives patterns that list the matching texts.
 */
import { ignoredKeyword, schemaMapKeyword } from "@cfworker/json-schema";
import { compileScriptPattern, type Pattern } from "./pattern.ts";

type Members = Record<string, unknown>;

/** The maximum number of characters of all texts that replace one pattern. */
const MAX_LISTED_CHARS = 64 * 1024;
const MATCHES_NOTHING = "^(?!)";
/** A keyword of draft 7 that the validator applies, although its list of keywords does not have it. */
const OLD_MAP_KEYWORD = "dependencies";

/** A value contains too much text for the patterns of its schema. */
export class TooMuchText extends Error {
  override name = "TooMuchText";
}

/** Creates copies of a schema, each with patterns that are safe to run on one value. */
export class SafePatterns {
  readonly #compiled = new Map<string, Pattern>();
  readonly #matchesUnsupported: boolean;

  /** `matchesUnsupported` says whether a pattern that the engine does not support matches every text or none. */
  constructor({ matchesUnsupported }: { matchesUnsupported: boolean }) {
    this.#matchesUnsupported = matchesUnsupported;
  }

  /** Returns the schema for this value. Throws `TooMuchText` if the value is too large. */
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

  /** Rewrites a member. Names in a map of schemas are not keywords, since a property may have the name `pattern`. */
  #rewriteMember(key: string, member: unknown, texts: readonly string[]): unknown {
    const isMap = Object.hasOwn(schemaMapKeyword, key) || key === OLD_MAP_KEYWORD;
    if (!isMap || !isObject(member)) return this.#rewriteSchema(member, texts);
    const entries = Object.entries(member);
    return Object.fromEntries(
      entries.map(([name, schema]) => [name, this.#rewriteSchema(schema, texts)]),
    );
  }

  /** Replaces patterns by the names in the value that match. Each of these names becomes a pattern of its own. */
  #rewriteProperties(member: unknown, texts: readonly string[]): unknown {
    if (!isObject(member)) return member;
    const schemasByName = new Map<string, unknown[]>();
    for (const [pattern, schema] of Object.entries(member)) {
      const rewritten = this.#rewriteSchema(schema, texts);
      for (const name of this.#findMatches(pattern, texts)) {
        const schemas = schemasByName.get(name) ?? [];
        schemasByName.set(name, [...schemas, rewritten]);
      }
    }
    const entries = [...schemasByName].map(([name, allOf]) => [patternFor([name]), { allOf }]);
    return Object.fromEntries(entries);
  }

  #listMatches(pattern: unknown, texts: readonly string[]): unknown {
    return typeof pattern === "string" ? patternFor(this.#findMatches(pattern, texts)) : undefined;
  }

  #findMatches(pattern: string, texts: readonly string[]): string[] {
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

/** Returns a pattern that matches exactly these texts. */
function patternFor(texts: readonly string[]): string {
  if (texts.length === 0) return MATCHES_NOTHING;
  const length = texts.reduce((sum, text) => sum + text.length, 0);
  if (length > MAX_LISTED_CHARS)
    throw new TooMuchText(`its patterns apply to more than ${MAX_LISTED_CHARS} characters`);
  return `^(?:${texts.map(escapeText).join("|")})$`;
}

function escapeText(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
}

/** Collects every string in the value, including the names of members. */
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
