/**
 * Resolves references: `${NAME}` in the strings of the configuration stands for an environment variable; `$${` is a
 * literal `${`.
 */
import type { Problem } from "../schema/problems.ts";
import { mapStrings } from "../text/key-path.ts";

/** A string that contained at least one reference. */
export interface Reference {
  path: (string | number)[];
  /** The variables of the string that are not set. */
  unset: string[];
  /** The variables that are set to blank or invisible text. */
  blank: string[];
}

/** Matches blank or invisible text. */
export const BLANK = /^[\s\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]*$/u;
const REFERENCE = /\$\$\{|\$\{([^}]*)(\}?)/g;
const WHOLE = /^\$\{[^}]*\}$/;
const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** Whether a text is exactly one reference. */
export const isWholeReference = (text: string): boolean => WHOLE.test(text);

interface Expansion {
  text: string;
  hasReference: boolean;
  unset: string[];
  blank: string[];
  /** A text that looks like a reference but is not one. */
  malformed: string[];
}

/**
 * Replaces every reference in `raw`. References to unset variables stay unchanged, and are problems. `convert` turns
 * the text of a reference that is a whole string to the type of its place.
 */
export function expandReferences(
  raw: unknown,
  env: Record<string, string | undefined>,
  convert: (text: string, path: (string | number)[]) => unknown = (text) => text,
) {
  const references: Reference[] = [];
  const problems: Problem[] = [];
  const value = mapStrings(raw, (source, path) => {
    if (!source.includes("${")) return source;
    const { text, hasReference, unset, blank, malformed } = expand(source, env);
    for (const message of [...malformed.map(describeMalformed), ...unset.map(describeUnset)])
      problems.push({ path, message, kind: "value" });
    if (hasReference) references.push({ path, unset, blank });
    return unset.length === 0 && WHOLE.test(source) ? convert(text, path) : text;
  });
  return { value, references, problems };
}

function expand(source: string, env: Record<string, string | undefined>): Expansion {
  const unset: string[] = [];
  const blank: string[] = [];
  const malformed: string[] = [];
  let hasReference = false;
  const text = source.replace(
    REFERENCE,
    (match: string, name: string | undefined, brace: string) => {
      if (name === undefined) return "${";
      if (brace === "" || !VARIABLE.test(name)) {
        malformed.push(match);
        return match;
      }
      hasReference = true;
      const value = Object.hasOwn(env, name) ? env[name] : undefined;
      if (value === undefined) unset.push(name);
      else if (BLANK.test(value)) blank.push(name);
      return value ?? match;
    },
  );
  return { text, hasReference, unset, blank, malformed };
}

const describeMalformed = (source: string): string =>
  `contains "${source}", which does not name an environment variable; write $\${ for a literal \${`;

const describeUnset = (name: string): string =>
  `refers to the environment variable ${name}, which is not set; set the variable, or add ${name}=… to .env in Portico's home directory`;
