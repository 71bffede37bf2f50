/** Responses that are kept, so that a later request can go on from one by its id. Each client sees its own only. */
import { type Client, PorticoError } from "portico";
import type { JsonObject } from "portico/chat";
import type { Store } from "portico/store";

const DAY_MS = 86_400_000;
/** A conversation longer than this is not followed further back. */
const MAX_LENGTH = 1000;

export interface Kept {
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
  put(client: Client, kept: Kept): Promise<void>;
  delete(client: Client, id: string): Promise<boolean>;
  /** All items up to and with the answer of this response, in order. Throws 400 where one of them is gone. */
  conversation(client: Client, id: string): Promise<JsonObject[]>;
  /** The item of that id among the answers that are kept. */
  item(client: Client, id: string): Promise<JsonObject | undefined>;
}

export function createArchive(kv: () => Store["kv"], days: () => number): Archive {
  const namespace = (client: Client) => (client.kind === "key" ? `responses.key.${client.key}` : "responses");
  const find = (client: Client, id: string) => kv().get<Kept>(namespace(client), id);

  return {
    get on() {
      return days() > 0;
    },
    async get(client, id) {
      const kept = await find(client, id);
      if (kept !== undefined) return kept;
      throw new PorticoError("not_found", `There is no response \`${id}\`: it was not stored, or it is too old.`, {
        type: "invalid_request_error",
      });
    },
    async put(client, kept) {
      await kv().set(namespace(client), String(kept.response.id), kept, { ttlMs: days() * DAY_MS });
    },
    delete: (client, id) => kv().delete(namespace(client), id),
    async conversation(client, id) {
      const parts: JsonObject[][] = [];
      for (let at: string | undefined = id; at !== undefined && parts.length < MAX_LENGTH; ) {
        const kept: Kept | undefined = await find(client, at);
        if (kept === undefined) {
          throw new PorticoError(
            "previous_response_not_found",
            `There is no response \`${at}\` to go on from: it was not stored, or it is too old. Send the whole conversation as input.`,
            { status: 400, param: "previous_response_id", type: "invalid_request_error" },
          );
        }
        parts.push([...kept.input, ...(kept.response.output as JsonObject[])]);
        at = kept.previous;
      }
      return parts.reverse().flat();
    },
    async item(client, id) {
      const kept = await find(client, responseOfItem(id));
      return (kept?.response.output as JsonObject[] | undefined)?.find((item) => item.id === id);
    },
  };
}

export type ItemKind = "msg" | "fc" | "ctc" | "rs";

/** Ids of items hold their response's. */
export function itemId(kind: ItemKind, responseId: string, index: number): string {
  return `${kind}_${responseId.slice("resp_".length)}_${index}`;
}

function responseOfItem(id: string): string {
  return `resp_${id.slice(id.indexOf("_") + 1, id.lastIndexOf("_"))}`;
}
