/** The routes of stored responses. */
import type { Call } from "portico";
import { type JsonObject, refused } from "portico/provider";
import type { Archive } from "./archive.ts";
import { errors } from "./errors.ts";

export async function getResponse(archive: Archive, call: Call): Promise<JsonObject> {
  // A client that waits for events would take a whole response for a stream without any.
  if (call.query.get("stream") === "true")
    throw refused("stream", "A stored response cannot be streamed: leave `stream` out");
  return (await archive.get(call.client, idOf(call))).response;
}

export async function deleteResponse(archive: Archive, call: Call): Promise<JsonObject> {
  const id = idOf(call);
  await archive.get(call.client, id);
  await archive.delete(call.client, id);
  return { id, object: "response", deleted: true };
}

export async function listInputItems(archive: Archive, call: Call): Promise<JsonObject> {
  const { input } = await archive.get(call.client, idOf(call));
  const data = input.map((item, i) => listedItem(item, `${call.params["id"]}_in_${i}`));
  if (call.query.get("order") !== "asc") data.reverse();
  return {
    object: "list",
    data,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
    has_more: false,
  };
}

/** Adds the fields that every listed item has. */
function listedItem(item: JsonObject, id: string): JsonObject {
  const type = item.type ?? "message";
  const content =
    typeof item.content === "string" ? [{ type: "input_text", text: item.content }] : item.content;
  return { id, ...item, type, content };
}

function idOf(call: Call): string {
  const id = call.params["id"] ?? "";
  if (/^resp_[0-9a-f]{1,64}$/.test(id)) return id;
  throw errors.unknownResponse({ id: id.slice(0, 100) });
}
