/** Finds problems in values of the right type: empty secrets, and what a schema's own `refuse` reports. */
import type { TSchema } from "@sinclair/typebox";
import type { Problem } from "../schema/problems.ts";
import { formatKeyPath, type KeyPath } from "../text/key-path.ts";
import { schemaAt } from "./compose.ts";
import { BLANK, type Reference } from "./references.ts";
import { FREE_NAMES, isSecretHeader } from "./secrets.ts";

// cspell:ignore passw
const MUST_HOLD = /(?:token|passw(?:or)?d|passphrase|secret)s?$/i;

/**
 * An empty or blank secret protects nothing, so it is refused under every name that says token, password or secret, and
 * wherever a schema says `secret: true`; one that says `emptyIsNone: true` takes it. So is a token with white space
 * around it. A schema's `refuse` gets the value (and the whole) and returns what is wrong with it, to be read after the key.
 */
export function refusalsIn(
  value: unknown,
  schema: TSchema,
  references: readonly Reference[],
): Problem[] {
  const problems: Problem[] = [];
  const visit = (at: unknown, path: (string | number)[]) => {
    const own = schemaAt(schema, path);
    const refuse = own?.["refuse"] as
      | ((value: unknown, whole: unknown) => string | undefined)
      | undefined;
    const message = blankText(at, path, own, references) ?? refuse?.(at, value);
    if (message !== undefined) problems.push({ path, message, kind: "value" });
    else if (Array.isArray(at)) for (const [i, item] of at.entries()) visit(item, [...path, i]);
    else if (typeof at === "object" && at !== null)
      for (const [key, item] of Object.entries(at)) visit(item, [...path, key]);
  };
  visit(value, []);
  return problems;
}

function blankText(
  value: unknown,
  path: KeyPath,
  own: TSchema | undefined,
  references: readonly Reference[],
) {
  if (typeof value !== "string" || own?.["emptyIsNone"] === true) return undefined;
  const [last = "", above = ""] = path.filter((step) => typeof step === "string").reverse();
  const isFree = FREE_NAMES.has(above);
  if (own?.["secret"] !== true && !(isFree ? isSecretHeader(last) : MUST_HOLD.test(last)))
    return undefined;
  const [blank] =
    references.find((reference) => formatKeyPath(reference.path) === formatKeyPath(path))?.blank ??
    [];
  if (blank !== undefined) return `refers to the environment variable ${blank}, which is empty`;
  // An empty header can be intended, so it is allowed.
  if (isFree && own?.["secret"] !== true) return undefined;
  if (BLANK.test(value)) return "must not be empty";
  // No client could send it: a header is without.
  return value !== value.trim() && /tokens?$/i.test(last)
    ? "must have no white space around it"
    : undefined;
}
