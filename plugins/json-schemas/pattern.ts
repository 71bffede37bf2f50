/**
 * Regular expressions from outside, in an engine whose time is linear in the text. This is the only importer of `re2js`.
 */
import { createRequire } from "node:module";
import type { RE2JS } from "re2js";

/** Returns true if the text contains a match. */
export type Pattern = (text: string) => boolean;

/** The maximum length of a pattern. A repetition of a long pattern would need a program of megabytes. */
const MAX_PATTERN_CHARS = 1000;
/** The length of text that is searched. The rest of a longer text is ignored. */
const MAX_TEXT_CHARS = 64 * 1024;

let engine: typeof RE2JS | undefined;

/** Loads the engine at first use (some 30 ms), because its Unicode tables take megabytes and few gateways have patterns. */
export function loadEngine(): typeof RE2JS {
  engine ??= (createRequire(import.meta.url)("re2js") as { RE2JS: typeof RE2JS }).RE2JS;
  return engine;
}

/**
 * Compiles a regular expression in the syntax of RE2, which has neither look-around nor back-references. Throws an `Error`
 * whose message describes the problem as the end of a sentence ("is longer than 1000 characters").
 */
export function compilePattern(source: string): Pattern {
  if (source.length > MAX_PATTERN_CHARS)
    throw new Error(`is longer than ${MAX_PATTERN_CHARS} characters`);
  const compiled = compile(source);
  return (text) => compiled.matcher(text.slice(0, MAX_TEXT_CHARS)).find();
}

/**
 * Compiles a pattern in the syntax of JavaScript (`\u0041`, `\/`), which JSON Schemas use. Throws as `compilePattern` does.
 */
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
