import { upstreamError } from "../stream/upstream-error.ts";
import { isObject, type JsonMembers } from "../request/is-object.ts";
import { parseObject } from "../request/parse-object.ts";

/**
 * Reads the ids in an upstream's list of models in OpenAI's form: `{data: [{id}]}`, or the bare list. Throws `upstream_error`
 * for anything else.
 */
export function readModelList(body: Buffer): string[] {
  const entries = readModelEntries(body, ["data"]);
  return entries.flatMap(({ id }) => (typeof id === "string" ? [id] : []));
}

/**
 * Reads the entries of an upstream's list of models, which is the body itself or one of its members in `keys`. Entries that
 * are no objects are left out. Throws `upstream_error` if there is no list, so that an unreadable response does not look
 * like an upstream without models. `mayBeEmpty`: the format leaves an empty list out, so an object without it has no models.
 */
export function readModelEntries(
  body: Buffer,
  keys: readonly string[],
  { mayBeEmpty = false } = {},
): JsonMembers[] {
  const value: unknown = parseObject(body);
  const lists = isObject(value) ? keys.map((key) => value[key]).filter(Array.isArray) : [];
  if (Array.isArray(value)) lists.push(value);
  const isEmptyObject = isObject(value) && Object.keys(value).length === 0;
  if (lists.length === 0 && !(mayBeEmpty && isEmptyObject))
    throw upstreamError(
      { kind: "upstream", message: "The upstream's list of models could not be read." },
      200,
    );
  return lists.flat().filter(isObject);
}
