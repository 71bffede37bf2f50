/**
 * One input from path, query and body. A query holds only text, so numbers and booleans are read from it by schema;
 * `null` in a body means "not given".
 */
import { PorticoError, type TSchema } from "portico";

interface Shape extends TSchema {
  type?: string;
  anyOf?: Shape[];
}

const kinds = (schema: Shape): string[] => (schema.anyOf ?? [schema]).map(({ type }) => type ?? "");

/** `"true"` → true, `"12"` → 12, where the schema takes no text there. Anything else stays, for the check to refuse. */
function fromText(text: string, schema: Shape): unknown {
  const allowed = kinds(schema);
  if (allowed.includes("string")) return text;
  if (allowed.includes("boolean")) {
    if (/^(true|1|yes|on|)$/i.test(text)) return true;
    if (/^(false|0|no|off)$/i.test(text)) return false;
  }
  if ((allowed.includes("integer") || allowed.includes("number")) && /^-?\d+(\.\d+)?$/.test(text))
    return Number(text);
  return text;
}

/** Members that name an element: without one, many actions would do something else than what was meant. */
const REFS: ReadonlySet<string> = new Set(["ref", "startRef", "endRef"]);

const takesNull = (schema: TSchema | undefined): boolean =>
  schema !== undefined && kinds(schema as Shape).includes("null");

/**
 * The members that a caller gave: those that are null count as left out, unless null is a value of that member. A ref
 * that is null is 400: it is the result of a search that found nothing, and not a wish to act elsewhere.
 */
export function withoutNulls(
  members: Readonly<Record<string, unknown>>,
  properties: Readonly<Record<string, TSchema>> = {},
  at = "",
): Record<string, unknown> {
  const given: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(members)) {
    if (value !== null || takesNull(properties[name])) given[name] = value;
    else if (REFS.has(name)) {
      const param = at === "" ? name : `${at}.${name}`;
      throw new PorticoError(
        "invalid_request_error",
        `${param} is null: give the ref of an element from a snapshot, or leave ${name} out where the action does without.`,
        { param },
      );
    }
  }
  return given;
}

interface Source {
  query?: Readonly<Record<string, string>> | undefined;
  body?: Readonly<Record<string, unknown>> | undefined;
}

/** A member that may stand in the body or the query, before either is checked. The body wins. */
export const memberOf = ({ query, body }: Source, name: string): unknown =>
  body?.[name] ?? query?.[name];

/** The body wins over the query, the path over both. */
export function inputOf(
  properties: Record<string, TSchema>,
  {
    query = {},
    body = {},
    params = {},
  }: Source & { params?: Readonly<Record<string, string>> | undefined },
): Record<string, unknown> {
  const input: Record<string, unknown> = {};
  for (const [name, text] of Object.entries(query)) {
    const schema = properties[name];
    if (schema !== undefined) input[name] = fromText(text, schema as Shape);
  }
  return { ...input, ...withoutNulls(body, properties), ...params };
}
