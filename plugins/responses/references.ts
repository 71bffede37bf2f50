/** Replaces the references of a request by the stored items that they name. */
import type { Call } from "portico";
import { type JsonObject, refused } from "portico/provider";
import type { Archive } from "./archive.ts";

/** A thousand references to one large item make a small request, so the size of the referenced items has a limit. */
const MAX_REFERENCED_BYTES = 32 * 1024 * 1024;

interface SizedItem {
  item: JsonObject;
  bytes: number;
}

export async function fillReferences(
  archive: Archive,
  call: Call,
  items: readonly JsonObject[],
): Promise<JsonObject[]> {
  const references = new References(archive, call);
  const input: JsonObject[] = [];
  for (const [i, item] of items.entries()) {
    const isReference = item.type === "item_reference";
    input.push(isReference ? await references.resolve(item.id, `input[${i}]`) : item);
  }
  return input;
}

class References {
  readonly #archive: Archive;
  readonly #call: Call;
  readonly #items = new Map<string, SizedItem>();
  #totalBytes = 0;

  constructor(archive: Archive, call: Call) {
    this.#archive = archive;
    this.#call = call;
  }

  async resolve(id: unknown, path: string): Promise<JsonObject> {
    const { item, bytes } = await this.#find(id, path);
    this.#totalBytes += bytes;
    if (this.#totalBytes > MAX_REFERENCED_BYTES)
      throw refused(path, "The items that `input` refers to are too large in total");
    return item;
  }

  async #find(id: unknown, path: string): Promise<SizedItem> {
    const key = typeof id === "string" ? id : "";
    const resolved = this.#items.get(key);
    if (resolved !== undefined) return resolved;
    const item = await this.#archive.item(this.#call.client, key);
    if (item === undefined) {
      const message = `There is no item ${JSON.stringify(id)}: it was not stored, or it is too old`;
      throw refused(`${path}.id`, message);
    }
    const sized = { item, bytes: JSON.stringify(item).length };
    this.#items.set(key, sized);
    return sized;
  }
}
