/** `${NAME}` in the strings of the configuration stands for an environment variable; `$${` is a literal `${`. */
import type { Problem } from "../schema/problems.ts";
import { mapStrings } from "../text/key-path.ts";

/** A string that contained at least one reference. */
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

interface Expansion {
  text: string;
  hasReference: boolean;
  unset: string[];
  blank: string[];
  /** A text that looks like a reference but is not one. */
  malformed: string[];
}

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
  const value = mapStrings(raw, (source, path) => {
    if (!source.includes("${")) return source;
    const { text, hasReference, unset, blank, malformed } = expand(source, env);
    for (const message of [...malformed.map(describeMalformed), ...unset.map(describeUnset)])
      problems.push({ path, message, kind: "value" });
    if (hasReference) references.push({ path, unset, blank });
    return unset.length === 0 && WHOLE.test(source) ? typed(text, path) : text;
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
    (written: string, name: string | undefined, brace: string) => {
      if (name === undefined) return "${";
      if (brace === "" || !VARIABLE.test(name)) {
        malformed.push(written);
        return written;
      }
      hasReference = true;
      const value = Object.hasOwn(env, name) ? env[name] : undefined;
      if (value === undefined) unset.push(name);
      else if (BLANK.test(value)) blank.push(name);
      return value ?? written;
    },
  );
  return { text, hasReference, unset, blank, malformed };
}

const describeMalformed = (written: string): string =>
  `holds "${written}", which does not name an environment variable; write $\${ for a literal \${`;

const describeUnset = (name: string): string =>
  `refers to the environment variable ${name}, which is not set; set it, or write ${name}=… into .env in the home`;
