/** `${NAME}` in the strings of the configuration stands for an environment variable; `$${` is a literal `${`. */
import type { Problem } from "../schema/problems.ts";
import { mapStrings } from "../text/key-path.ts";

/** A string that held at least one reference. */
export interface Reference {
  path: (string | number)[];
  /** The variables of the string that are not set. */
  unset: string[];
  /** Those that are set, to nothing that can be seen. */
  blank: string[];
}

/** A text in which nothing can be seen. */
export const BLANK = /^[\s\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]*$/u;
const REFERENCE = /\$\$\{|\$\{([^}]*)(\}?)/g;
const WHOLE = /^\$\{[^}]*\}$/;
const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** Whether a text is one reference and nothing else. */
export const isWholeReference = (text: string): boolean => WHOLE.test(text);

/**
 * Replaces every reference in `raw`. Unset variables stay as they are written, and are problems. `typed` gets what a
 * reference that is the whole string stands for, and returns what it means there.
 */
export function expandReferences(
  raw: unknown,
  env: Record<string, string | undefined>,
  typed: (text: string, path: (string | number)[]) => unknown = (text) => text,
) {
  const references: Reference[] = [];
  const problems: Problem[] = [];

  const text = (source: string, path: (string | number)[]): unknown => {
    const unset: string[] = [];
    const blank: string[] = [];
    let found = false;
    const value = source.replace(
      REFERENCE,
      (whole: string, name: string | undefined, brace: string) => {
        if (name === undefined) return "${";
        if (brace === "" || !VARIABLE.test(name)) {
          problems.push({
            path,
            message: `holds "${whole}", which names no environment variable; write $\${ for a literal \${`,
            kind: "value",
          });
          return whole;
        }
        found = true;
        const set = Object.hasOwn(env, name) ? env[name] : undefined;
        if (set === undefined) unset.push(name);
        else if (BLANK.test(set)) blank.push(name);
        return set ?? whole;
      },
    );
    for (const name of unset)
      problems.push({
        path,
        message: `refers to the environment variable ${name}, which is not set`,
        kind: "value",
      });
    if (found) references.push({ path, unset, blank });
    return unset.length === 0 && WHOLE.test(source) ? typed(value, path) : value;
  };

  const value = mapStrings(raw, (source, path) =>
    source.includes("${") ? text(source, path) : source,
  );
  return { value, references, problems };
}
