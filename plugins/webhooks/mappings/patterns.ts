/** Regular expressions of mappings. */
import { compilePattern, type Pattern } from "portico/json-schemas";
import { errors } from "../errors.ts";

/**
 * Refuses back-references and assertions, and a repetition of a group that repeats itself, such as `(a+)+`. Such a
 * repetition would do no harm here, but it hangs in the engine that its author has probably tested it with.
 */
export function readPattern(source: string, key: string): Pattern {
  const refuse = (problem: string) => errors.badPattern({ key, problem }, { param: key });
  if (nests(source))
    throw refuse(
      "repeats a group that itself contains a repetition, which can take extremely long to match: write it without the nesting",
    );
  try {
    return compilePattern(source);
  } catch (error) {
    throw refuse((error as Error).message);
  }
}

/** True where an unbounded repetition applies to a group that holds another one. */
function nests(source: string): boolean {
  /** For each open group, the outermost first, whether something in it repeats without bound. */
  const groups = [false];
  for (let i = 0; i < source.length; i++) {
    const sign = source[i];
    if (sign === "\\") i++;
    else if (sign === "[") i = endOfClass(source, i);
    else if (sign === "(") groups.push(false);
    else if (sign === ")") {
      const isRepeated = isUnbounded(source, i + 1);
      if (closeGroup(groups, isRepeated)) return true;
    } else if (isUnbounded(source, i)) groups[groups.length - 1] = true;
  }
  return false;
}

/** Returns true where the group that ends repeats, and so does something in it. */
function closeGroup(groups: boolean[], isRepeated: boolean): boolean {
  const holdsRepetition = groups.length > 1 && groups.pop() === true;
  if (holdsRepetition && isRepeated) return true;
  if (holdsRepetition || isRepeated) groups[groups.length - 1] = true;
  return false;
}

function isUnbounded(source: string, at: number): boolean {
  const sign = source[at];
  return sign === "*" || sign === "+" || (sign === "{" && /^\{\d+,\}/.test(source.slice(at)));
}

function endOfClass(source: string, from: number): number {
  for (let i = from + 1; i < source.length; i++) {
    if (source[i] === "\\") i++;
    else if (source[i] === "]" && i > from + 1) return i;
  }
  return source.length;
}
