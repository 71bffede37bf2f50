/**
 * Short texts for the `pattern`s of a schema. They come from callers, so they run in an engine whose time is linear, and
 * only where they are small: others are not evaluated.
 */
import { RE2JS } from "re2js";
import { patternText } from "./pattern-text.ts";

/** Instructions of all patterns of one schema together. */
const MAX_SIZE = 1000;
/** Instructions times characters, of all texts that are held against patterns: about a quarter of a second. */
const MAX_MATCHING = 10_000_000;
/** Steps to the making of one text, and of all. */
const MAX_STEPS = 10_000;
const MAX_ALL_STEPS = 200_000;

export interface FittingTexts {
  /** Whether the pattern fits the text; undefined where that is not known. */
  fits(pattern: string, text: string): boolean | undefined;
  /** A text of at least that length that the pattern fits, made from the pattern. `pick` asks for another one. */
  made(pattern: string, least: number, pick: number): string;
}

export function createFittingTexts(): FittingTexts {
  const known = new Map<string, { engine: RE2JS; size: number } | undefined>();
  const left = { size: MAX_SIZE, matching: MAX_MATCHING, steps: MAX_ALL_STEPS };

  function compiled(pattern: string) {
    if (known.has(pattern)) return known.get(pattern);
    const size = sizeOf(pattern);
    left.size -= size;
    const engine = left.size < 0 ? undefined : compile(pattern);
    const made = engine && { engine, size };
    known.set(pattern, made);
    return made;
  }

  return {
    fits(pattern, text) {
      const made = compiled(pattern);
      if (made) left.matching -= made.size * text.length;
      return left.matching < 0 ? undefined : made?.engine.matcher(text).find();
    },
    made(pattern, least, pick) {
      if (left.steps <= 0) return "a".repeat(least);
      const most = Math.min(left.steps, MAX_STEPS + 4 * least + pattern.length);
      let unused = most;
      const text = patternText(pattern, { least, pick }, (amount) => {
        unused -= amount;
        if (!(unused >= 0)) throw new SyntaxError("too long");
      });
      left.steps -= most - Math.max(0, unused);
      if (text === undefined) return "a".repeat(least);
      const end = /(^|[^\\])(\\\\)*\$$/.test(pattern);
      return end ? text : text.padEnd(least, text.at(-1) ?? "a");
    },
  };
}

/** Undefined for what the engine does not know: references back, and looks ahead or behind. */
function compile(pattern: string): RE2JS | undefined {
  try {
    return RE2JS.compile(pattern);
  } catch {
    return undefined;
  }
}

/** About how many instructions a pattern becomes: its characters, with counted repetitions written out. */
function sizeOf(pattern: string): number {
  const sums = [0];
  let last = 0;
  const tokens = /\\.|\[(?:\\.|[^\]\\])*\]|\{(\d{1,5})(?:,(\d{0,5}))?\}|[\s\S]/g;
  for (const [token, least, most] of pattern.slice(0, MAX_SIZE).matchAll(tokens)) {
    const top = sums.length - 1;
    if (least !== undefined) {
      const times = Math.max(1, Number(least), Number(most || 0));
      sums[top]! += last * (times - 1);
      last *= times;
    } else if (token === "(") sums.push(0);
    else {
      last = token === ")" && top > 0 ? sums.pop()! : 1;
      sums[sums.length - 1]! += last;
    }
  }
  return sums.reduce((sum, one) => sum + one, 0) + pattern.length;
}
