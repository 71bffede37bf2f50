/** Responses that are kept, so that a later request can go on from one by its id. Each client sees its own only. */
import type { Client } from "portico";
import { type JsonObject, parseExact, stringifyExact } from "portico/provider";
import type { Store } from "portico/store";
import { errors } from "./errors.ts";
import type { Quota } from "./quota.ts";

const DAY_MS = 86_400_000;
/** A conversation longer than this is not followed further back. */
const MAX_LENGTH = 1000;

interface Kept {
  response: JsonObject;
  /** What the request itself brought. */
  input: JsonObject[];
  /** The response before it. */
  previous?: string | undefined;
}

export interface Archive {
  /** False where nothing is ever kept. */
  readonly on: boolean;
  /** Throws 404 `not_found`. */
  get(client: Client, id: string): Promise<Kept>;
  /** False where a response to this could not be kept: it is more than the client's whole quota. */
  accepts(client: Client, input: readonly JsonObject[]): boolean;
  /** False where it is too large to be kept. */
  put(client: Client, kept: Kept): Promise<boolean>;
  delete(client: Client, id: string): Promise<boolean>;
  /** All items up to and with the output of this response, in order. Throws 400 where one of them is gone. */
  conversation(client: Client, id: string): Promise<JsonObject[]>;
  /** The item of that id among the responses that are kept. */
  item(client: Client, id: string): Promise<JsonObject | undefined>;
}

export interface ArchiveServices {
  kv: () => Store["kv"];
  days: () => number;
  quota: Quota;
}

export function createArchive({ kv, days, quota }: ArchiveServices): Archive {
  async function find(client: Client, id: string): Promise<Kept | undefined> {
    const row = await kv().get<string | Kept>(namespaceOf(client), id);
    // Earlier versions stored the value itself. A text keeps the digits of large whole numbers.
    return typeof row === "string" ? (parseExact(row) as Kept) : row;
  }

  /** With the names of its items, which would outlive it. */
  async function forget(client: Client, id: string): Promise<boolean> {
    const namespace = namespaceOf(client);
    const kept = await find(client, id);
    const items = kept === undefined ? [] : foreignIds(kept.response);
    for (const item of items) await kv().delete(namespace, aliasOf(item));
    return kv().delete(namespace, id);
  }

  return {
    get on() {
      return days() > 0;
    },
    async get(client, id) {
      const kept = await find(client, id);
      if (kept !== undefined) return kept;
      throw errors.unknownResponse({ id });
    },
    accepts: (client, input) => client.kind !== "key" || quota.fits(sizeOf(input)),
    async put(client, kept) {
      const namespace = namespaceOf(client);
      const id = String(kept.response.id);
      const ttlMs = days() * DAY_MS;
      const limited = client.kind === "key";
      const text = stringifyExact(kept);
      const bytes = limited ? Buffer.byteLength(text) : 0;
      if (!quota.fits(bytes)) return false;
      await kv().set(namespace, id, text, { ttlMs });
      for (const item of foreignIds(kept.response))
        await kv().set(namespace, aliasOf(item), id, { ttlMs });
      if (limited)
        for (const old of await quota.add(namespace, id, bytes, ttlMs)) await forget(client, old);
      return true;
    },
    async delete(client, id) {
      if (client.kind === "key") await quota.remove(namespaceOf(client), id);
      return forget(client, id);
    },
    async conversation(client, id) {
      const parts: JsonObject[][] = [];
      for (let at: string | undefined = id; at !== undefined && parts.length < MAX_LENGTH; ) {
        const kept: Kept | undefined = await find(client, at);
        if (kept === undefined) {
          throw errors.previousResponseGone({ id: at }, { param: "previous_response_id" });
        }
        const output = kept.response.output as JsonObject[];
        // A compaction stands for all that was before it.
        const isCompacted = output.some((item) => item.type === "compaction");
        parts.push(isCompacted ? output : [...kept.input, ...output]);
        at = isCompacted ? undefined : kept.previous;
      }
      return parts.reverse().flat();
    },
    async item(client, id) {
      const named = await kv().get<string>(namespaceOf(client), aliasOf(id));
      const kept = await find(client, named ?? responseOfItem(id));
      return (kept?.response.output as JsonObject[] | undefined)?.find((item) => item.id === id);
    },
  };
}

/**
 * By the key's id and not only its name: who has a name later does not read what its first holder asked. Authenticators
 * of other plugins may know names only.
 */
function namespaceOf({ kind, key = "", keyId = "" }: Client): string {
  return kind === "key" ? `responses.key.${key}.${keyId}` : "responses";
}

function sizeOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}

/** Of items that an upstream has named itself. */
function foreignIds({ id, output }: JsonObject): string[] {
  const ids = (output as JsonObject[]).map((item) => item.id);
  return ids.filter((one): one is string => typeof one === "string" && responseOfItem(one) !== id);
}

function aliasOf(itemId: string): string {
  return `item.${itemId.slice(0, LONGEST_ITEM_ID)}`;
}

const LONGEST_ITEM_ID = 200;

export type ItemKind = "msg" | "fc" | "ctc" | "rs" | "lsh" | "sh" | "apc" | "tsc" | "cmp";

/** Ids of items hold their response's. */
export function itemId(kind: ItemKind, responseId: string, index: number): string {
  return `${kind}_${responseId.slice("resp_".length)}_${index}`;
}

function responseOfItem(id: string): string {
  return `resp_${id.slice(id.indexOf("_") + 1, id.lastIndexOf("_"))}`;
}
