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
 * Returns the problems. An empty or blank secret protects nothing, so it is refused under every name that contains
 * token, password or secret, and where a schema has `secret: true`, unless the schema has `emptyIsNone: true`. A token
 * with white space around it is refused as well. A schema's `refuse` receives the value (and the whole configuration)
 * and returns the problem as a predicate that follows the key.
 */
export function refusalsIn(
  value: unknown,
  schema: TSchema,
  references: readonly Reference[],
): Problem[] {
  const problems: Problem[] = [];
  const visit = (current: unknown, path: (string | number)[]) => {
    const schemaHere = schemaAt(schema, path);
    const refuse = schemaHere?.["refuse"] as
      | ((value: unknown, whole: unknown) => string | undefined)
      | undefined;
    const message =
      checkSecretText(current, path, schemaHere, references) ?? refuse?.(current, value);
    if (message !== undefined) problems.push({ path, message, kind: "value" });
    else if (Array.isArray(current))
      for (const [i, item] of current.entries()) visit(item, [...path, i]);
    else if (typeof current === "object" && current !== null)
      for (const [key, item] of Object.entries(current)) visit(item, [...path, key]);
  };
  visit(value, []);
  return problems;
}

function checkSecretText(
  value: unknown,
  path: KeyPath,
  schemaHere: TSchema | undefined,
  references: readonly Reference[],
) {
  if (typeof value !== "string" || schemaHere?.["emptyIsNone"] === true) return undefined;
  const [name = "", parentName = ""] = path.filter((step) => typeof step === "string").reverse();
  const isFree = FREE_NAMES.has(parentName);
  if (schemaHere?.["secret"] !== true && !(isFree ? isSecretHeader(name) : MUST_HOLD.test(name)))
    return undefined;
  const [blank] =
    references.find((reference) => formatKeyPath(reference.path) === formatKeyPath(path))?.blank ??
    [];
  if (blank !== undefined) return `refers to the environment variable ${blank}, which is empty`;
  // An empty header can be intended, so it is allowed.
  if (isFree && schemaHere?.["secret"] !== true) return undefined;
  if (BLANK.test(value)) return "must not be empty";
  // Header values have no white space around them, so no client could send such a token.
  return value !== value.trim() && /tokens?$/i.test(name)
    ? "must have no white space around it"
    : undefined;
}
