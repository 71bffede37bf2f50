import type { Item } from "../identity.ts";
import { isForEach, readPath, type ValuePath, valueAt } from "../value-path.ts";
import { exactJson } from "portico";
import { TimeSlices } from "../time-slices.ts";
import { decodeText } from "portico/strings";
import { fetchSource } from "./fetch.ts";
import { parseDocument } from "./json-text.ts";
import { CheckFailed, checkItemCount, type ReadRequest, type ReadResult } from "./source.ts";

/**
 * Reads the list at the path `items` of a JSON document. Without `items`, the document is the list, or its only item.
 */
export function readJson(request: ReadRequest): Promise<ReadResult> {
  const { items: path, key } = request.source;
  return fetchSource(request, async ({ body, contentType }) => ({
    kind: "items",
    items: await parseJsonItems(decodeText(body, contentType), path, key),
  }));
}

export async function parseJsonItems(
  text: string,
  path: string | undefined,
  key: string | undefined,
): Promise<Item[]> {
  const pathToList = parsePath(path ?? "");
  const pathToId = key === undefined ? undefined : parsePath(key);
  let document: unknown;
  try {
    document = parseDocument(text);
  } catch (cause) {
    if (cause instanceof CheckFailed) throw cause;
    const beginning = text.trim().slice(0, 30).replace(/\s+/g, " ");
    throw new CheckFailed(
      `The response is not JSON: it begins with ${JSON.stringify(beginning)}.`,
      {
        cause,
      },
    );
  }
  let list: unknown = document;
  if (pathToList.length > 0) {
    list = valueAt(document, pathToList);
    if (list === undefined)
      throw new CheckFailed(`The document has nothing at ${JSON.stringify(path)}.`);
    if (!Array.isArray(list))
      throw new CheckFailed(`The value at ${JSON.stringify(path)} of the document is not a list.`);
  }
  const values: unknown[] = Array.isArray(list) ? list.flat(isForEach(pathToList) ? 1 : 0) : [list];
  return TimeSlices.map(checkItemCount(values), (value) => {
    const id = pathToId === undefined ? undefined : valueAt(value, pathToId);
    return id === undefined || id === null
      ? { value }
      : { value, id: isPlain(id) ? String(id) : exactJson.stringify(id) };
  });
}

/** A definition that an earlier version stored may have an invalid path. */
function parsePath(text: string): ValuePath {
  const path = readPath(text);
  if (path === undefined)
    throw new CheckFailed(`${JSON.stringify(text)} is not a path into JSON such as data.items.`);
  return path;
}

function isPlain(id: unknown): boolean {
  return typeof id !== "object" || exactJson.isNumber(id);
}
