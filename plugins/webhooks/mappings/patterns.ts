/** Compiles the regular expressions of mappings. */
import { compilePattern, type Pattern } from "portico/json-schemas";
import { errors } from "../errors.ts";

/**
 * Compiles a pattern. Throws `invalid_request_error` for back-references, assertions, and a repetition of a group that
 * contains a repetition, such as `(a+)+`. That would do no harm here, but can hang the engine in which its author tests it.
 */
export function readPattern(source: string, key: string): Pattern {
  const patternError = (problem: string) => errors.badPattern({ key, problem }, { param: key });
  if (hasNestedRepetition(source))
    throw patternError(
      "repeats a group that itself contains a repetition, which can take extremely long to match: write it without the nesting",
    );
  try {
    return compilePattern(source);
  } catch (error) {
    throw patternError((error as Error).message);
  }
}

/** Returns whether an unbounded repetition applies to a group that contains another one. */
function hasNestedRepetition(source: string): boolean {
  /** Whether each open group, the outermost first, contains an unbounded repetition. */
  const groups = [false];
  for (let i = 0; i < source.length; i++) {
    const character = source[i];
    if (character === "\\") i++;
    else if (character === "[") i = endOfClass(source, i);
    else if (character === "(") groups.push(false);
    else if (character === ")") {
      const isRepeated = isUnbounded(source, i + 1);
      if (closeGroup(groups, isRepeated)) return true;
    } else if (isUnbounded(source, i)) groups[groups.length - 1] = true;
  }
  return false;
}

/** Closes a group. Returns whether it is repeated and contains a repetition. */
function closeGroup(groups: boolean[], isRepeated: boolean): boolean {
  const holdsRepetition = groups.length > 1 && groups.pop() === true;
  if (holdsRepetition && isRepeated) return true;
  if (holdsRepetition || isRepeated) groups[groups.length - 1] = true;
  return false;
}

function isUnbounded(source: string, at: number): boolean {
  const character = source[at];
  return (
    character === "*" ||
    character === "+" ||
    (character === "{" && /^\{\d+,\}/.test(source.slice(at)))
  );
}

function endOfClass(source: string, from: number): number {
  for (let i = from + 1; i < source.length; i++) {
    if (source[i] === "\\") i++;
    else if (source[i] === "]" && i > from + 1) return i;
  }
  return source.length;
}
