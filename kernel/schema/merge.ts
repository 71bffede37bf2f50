/** Merges the path, the query and the body of a request into one input. */
import type { TSchema } from "@sinclair/typebox";
import type { RequestParts } from "../contract/index.ts";
import { errors } from "./errors.ts";
import { listKinds, readQuery } from "./query.ts";

/**
 * The path overrides the body, and the body overrides the query. A `null` in the body means "not given" and overrides
 * nothing, unless the schema takes null for that member. `at` is the place of the body within the request, for errors.
 */
export function mergeParts(
  schema: TSchema,
  { params = {}, query = {}, body = {} }: RequestParts,
  at = "",
): Record<string, unknown> {
  const fields = (schema["properties"] ?? {}) as Record<string, TSchema>;
  const inBody = Object.entries(body).filter(([name, value]) => {
    if (value !== null) return true;
    const field = Object.hasOwn(fields, name) ? fields[name] : undefined;
    if (field && listKinds(field).includes("null")) return true;
    if (isReference(name)) throw nullReference(name, at);
    return false;
  });
  // An assignment would make a member called `__proto__` the prototype.
  return Object.fromEntries([
    ...Object.entries(readQuery(query, schema)),
    ...inBody,
    ...Object.entries(params),
  ]);
}

/** Whether a member names an element of a page: `ref`, `startRef` and so on. */
function isReference(name: string): boolean {
  return name === "ref" || name.endsWith("Ref");
}

/**
 * Creates the error for a null reference, which usually is the result of a search without a match. Treating it as
 * absent would act on something else.
 */
function nullReference(name: string, at: string): Error {
  const param = at === "" ? name : `${at}.${name}`;
  return errors.nullReference({ param, name }, { param });
}
