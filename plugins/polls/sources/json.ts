import type { Item } from "../identity.ts";
import { valueAt } from "../value-path.ts";
import { exactJson } from "portico";
import { TimeSlices } from "../time-slices.ts";
import { decodeText } from "portico/strings";
import { fetchSource } from "./fetch.ts";
import { parseDocument } from "./json-text.ts";
import { CheckFailed, countable, type ReadRequest, type ReadResult } from "./source.ts";

/** A list somewhere in a JSON document; without `items` a document that is a list, or the document as its one item. */
export function readJson(request: ReadRequest): Promise<ReadResult> {
  const { items: path, key } = request.source;
  return fetchSource(request, async ({ body, contentType }) => ({
    kind: "items",
    items: await jsonItems(decodeText(body, contentType), path, key),
  }));
}

export async function jsonItems(
  text: string,
  path: string | undefined,
  key: string | undefined,
): Promise<Item[]> {
  let document: unknown;
  try {
    document = parseDocument(text);
  } catch (cause) {
    if (cause instanceof CheckFailed) throw cause;
    const begin = text.trim().slice(0, 30).replace(/\s+/g, " ");
    throw new CheckFailed(`The response is not JSON: it begins with ${JSON.stringify(begin)}.`, {
      cause,
    });
  }
  let list: unknown = document;
  if (path !== undefined && path !== "") {
    list = valueAt(document, path);
    if (list === undefined)
      throw new CheckFailed(`The document has nothing at ${JSON.stringify(path)}.`);
    if (!Array.isArray(list))
      throw new CheckFailed(`The value at ${JSON.stringify(path)} of the document is not a list.`);
  }
  const values: unknown[] = Array.isArray(list) ? list.flat(path?.includes("[*]") ? 1 : 0) : [list];
  return TimeSlices.map(countable(values), (value) => {
    const id = key === undefined ? undefined : valueAt(value, key);
    return id === undefined || id === null
      ? { value }
      : { value, id: isPlain(id) ? String(id) : exactJson.stringify(id) };
  });
}

function isPlain(id: unknown): boolean {
  return typeof id !== "object" || exactJson.isNumber(id);
}
