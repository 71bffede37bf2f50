/** Stores responses, so that a later request can continue one by its id. Each client sees only its own responses. */
import type { Client } from "portico";
import { type JsonObject, parseExact, stringifyExact } from "portico/provider";
import type { Store } from "portico/store";
import { errors } from "./errors.ts";
import type { Quota } from "./quota.ts";

const DAY_MS = 86_400_000;
/** The number of responses that the archive follows back in one conversation. */
const MAX_LENGTH = 1000;

interface StoredResponse {
  response: JsonObject;
  /** The items that the request itself brought. */
  input: JsonObject[];
  /** The id of the response that this one continues. */
  previous?: string | undefined;
}

export interface Archive {
  /** False if the configuration stores no responses. */
  readonly isOn: boolean;
  /** Throws 404 `not_found`. */
  get(client: Client, id: string): Promise<StoredResponse>;
  /** Returns false if the input alone exceeds the client's whole quota, so that no response to it can be stored. */
  accepts(client: Client, input: readonly JsonObject[]): boolean;
  /** Resolves with false if the response is too large to be stored. */
  put(client: Client, entry: StoredResponse): Promise<boolean>;
  /** Resolves with false if there is no such response. */
  delete(client: Client, id: string): Promise<boolean>;
  /** Returns all items up to and including the output of this response, in order. Throws 400 if one response is missing. */
  conversation(client: Client, id: string): Promise<JsonObject[]>;
  /** Returns the item with that id from the stored responses. */
  item(client: Client, id: string): Promise<JsonObject | undefined>;
}

export interface ArchiveServices {
  kv: () => Store["kv"];
  days: () => number;
  quota: Quota;
}

export function createArchive({ kv, days, quota }: ArchiveServices): Archive {
  async function find(client: Client, id: string): Promise<StoredResponse | undefined> {
    const row = await kv().get<string | StoredResponse>(namespaceOf(client), id);
    // Earlier versions stored the value itself. A JSON text keeps the digits of large whole numbers.
    return typeof row === "string" ? (parseExact(row) as StoredResponse) : row;
  }

  /** Deletes a response, and the names of its items, which would outlive it. */
  async function deleteStored(client: Client, id: string): Promise<boolean> {
    const namespace = namespaceOf(client);
    const entry = await find(client, id);
    const items = entry === undefined ? [] : foreignIds(entry.response);
    for (const item of items) await kv().delete(namespace, aliasOf(item));
    return kv().delete(namespace, id);
  }

  return {
    get isOn() {
      return days() > 0;
    },
    async get(client, id) {
      const entry = await find(client, id);
      if (entry !== undefined) return entry;
      throw errors.unknownResponse({ id });
    },
    accepts: (client, input) => client.kind !== "key" || quota.fits(sizeOf(input)),
    async put(client, entry) {
      const namespace = namespaceOf(client);
      const id = String(entry.response.id);
      const ttlMs = days() * DAY_MS;
      const isLimited = client.kind === "key";
      const text = stringifyExact(entry);
      const bytes = isLimited ? Buffer.byteLength(text) : 0;
      if (!quota.fits(bytes)) return false;
      await kv().set(namespace, id, text, { ttlMs });
      for (const item of foreignIds(entry.response))
        await kv().set(namespace, aliasOf(item), id, { ttlMs });
      if (isLimited)
        for (const old of await quota.add(namespace, id, bytes, ttlMs))
          await deleteStored(client, old);
      return true;
    },
    async delete(client, id) {
      if (client.kind === "key") await quota.remove(namespaceOf(client), id);
      return deleteStored(client, id);
    },
    async conversation(client, id) {
      const parts: JsonObject[][] = [];
      for (let at: string | undefined = id; at !== undefined && parts.length < MAX_LENGTH; ) {
        const entry: StoredResponse | undefined = await find(client, at);
        if (entry === undefined) {
          throw errors.previousResponseGone({ id: at }, { param: "previous_response_id" });
        }
        const output = entry.response.output as JsonObject[];
        // A compaction replaces all items before it.
        const isCompacted = output.some((item) => item.type === "compaction");
        parts.push(isCompacted ? output : [...entry.input, ...output]);
        at = isCompacted ? undefined : entry.previous;
      }
      return parts.reverse().flat();
    },
    async item(client, id) {
      const responseId = await kv().get<string>(namespaceOf(client), aliasOf(id));
      const entry = await find(client, responseId ?? responseOfItem(id));
      return (entry?.response.output as JsonObject[] | undefined)?.find((item) => item.id === id);
    },
  };
}

/**
 * Returns the namespace of a client's responses. It holds the id of the key and not only its name, so that a later key of
 * the same name cannot read them. Authenticators of other plugins may know names only.
 */
function namespaceOf({ kind, key = "", keyId = "" }: Client): string {
  return kind === "key" ? `responses.key.${key}.${keyId}` : "responses";
}

function sizeOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}

/** Returns the ids of items that the upstream named itself. */
function foreignIds({ id, output }: JsonObject): string[] {
  const ids = (output as JsonObject[]).map((item) => item.id);
  return ids.filter(
    (item): item is string => typeof item === "string" && responseOfItem(item) !== id,
  );
}

function aliasOf(itemId: string): string {
  return `item.${itemId.slice(0, LONGEST_ITEM_ID)}`;
}

const LONGEST_ITEM_ID = 200;

export type ItemKind = "msg" | "fc" | "ctc" | "rs" | "lsh" | "sh" | "apc" | "tsc" | "cmp";

/** Returns the id of an item, which holds the id of its response. */
export function itemId(kind: ItemKind, responseId: string, index: number): string {
  return `${kind}_${responseId.slice("resp_".length)}_${index}`;
}

function responseOfItem(id: string): string {
  return `resp_${id.slice(id.indexOf("_") + 1, id.lastIndexOf("_"))}`;
}
