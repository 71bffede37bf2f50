/** Regular expressions from outside, in an engine whose time is linear in the text. The only importer of `re2js`. */
import { createRequire } from "node:module";
import type { RE2JS } from "re2js";

/** True where the text holds a match. */
export type Pattern = (text: string) => boolean;

/** The longest pattern: what repeats a long pattern needs a program of megabytes. */
const MAX_PATTERN_CHARS = 1000;
/** Only the beginning of a longer text is searched. */
const MAX_TEXT_CHARS = 64 * 1024;

let engine: typeof RE2JS | undefined;

/** Loads the engine at first use (some 30 ms): its tables of Unicode take megabytes, and few gateways have patterns. */
export function loadEngine(): typeof RE2JS {
  engine ??= (createRequire(import.meta.url)("re2js") as { RE2JS: typeof RE2JS }).RE2JS;
  return engine;
}

/**
 * Compiles a regular expression in the syntax of RE2, which has neither look-around nor back-references. Throws an
 * `Error` whose message says what is wrong with it, as the end of a sentence ("is longer than 1000 characters").
 */
export function compilePattern(source: string): Pattern {
  if (source.length > MAX_PATTERN_CHARS)
    throw new Error(`is longer than ${MAX_PATTERN_CHARS} characters`);
  const compiled = compile(source);
  return (text) => compiled.matcher(text.slice(0, MAX_TEXT_CHARS)).find();
}

/** The same for a pattern in the syntax of JavaScript (`\u0041`, `\/`), as JSON Schemas have them. */
export function compileScriptPattern(source: string): Pattern {
  return compilePattern(loadEngine().translateRegExp(source));
}

function compile(source: string): RE2JS {
  try {
    return loadEngine().compile(source);
  } catch (cause) {
    const problem = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`is not valid (${problem})`, { cause });
  }
}
