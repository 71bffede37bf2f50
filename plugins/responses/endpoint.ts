/** The routes: read, ask through the `chat` service, answer in the Responses form, keep what was asked to be kept. */
import { randomBytes } from "node:crypto";
import type { Call, Logger } from "portico";
import { type ModelsService, jsonBody } from "portico/models";
import {
  type ChatRequest,
  estimateTokens,
  type JsonObject,
  modelAt,
  type NativeRequest,
  objectAt,
  parseExact,
  refused,
} from "portico/provider";
import type { Archive } from "./archive.ts";
import { compactionOf, createSummaryOutput, summaryRequest } from "./compaction/compaction.ts";
import { errors } from "./errors.ts";
import { nativeItems, nativeResponse } from "./native.ts";
import { createOutput } from "./output.ts";
import { readConversation } from "./chat-request.ts";
import { Reading } from "./reading.ts";
import { readSettings, type ReadSettings } from "./request.ts";
import { newResponse, responseOf } from "./response.ts";
import { createEncoder } from "./stream.ts";
import type { ToolTable } from "./tools/tool-table.ts";

export interface ResponsesServices {
  chat: ModelsService;
  archive: Archive;
  log: Logger;
}

/** A request that was read, in both forms in which it may go out. */
interface Asked {
  body: JsonObject;
  settings: ReadSettings;
  /** What the request itself brings; named items are filled in. */
  input: JsonObject[];
  request: ChatRequest;
  native: NativeRequest;
  tools: ToolTable;
  reading: Reading;
}

async function readRequest({ archive }: ResponsesServices, call: Call): Promise<Asked> {
  const body = objectAt(await jsonBody(call), "body");
  const reading = new Reading();
  const settings = readSettings(body, reading);
  const input = await withReferences(archive, call, settings.input);
  const { instructions, previous } = settings;
  const earlier = previous === undefined ? [] : await archive.conversation(call.client, previous);
  const conversation = readConversation(body, { instructions, earlier, input }, reading);
  const { messages, tools, toolMembers } = conversation;
  const own = { ...settings.request, ...toolMembers, model: modelAt(body), messages };
  const request = reading.compacts ? summaryRequest(own) : own;
  const native = nativeRequest(body, [...earlier, ...input]);
  return { body, settings, input, request, native, tools, reading };
}

export async function createResponse(
  services: ResponsesServices,
  call: Call,
): Promise<JsonObject | undefined> {
  const { chat, archive } = services;
  const asked = await readRequest(services, call);
  const { body, settings, input, request, native, tools, reading } = asked;
  const stored = settings.store && archive.on && archive.accepts(call.client, input);
  const dropped = [...settings.dropped, ...reading.dropped];
  if (settings.store && archive.on && !stored) dropped.push("store");
  const response = newResponse(newResponseId(), body, stored);
  const keep = (ended: JsonObject) =>
    stored ? keepResponse(services, call, asked, ended) : undefined;
  const toolOf = (name: string) => tools.idOf(name);
  const makeOutput = reading.compacts ? createSummaryOutput : createOutput;
  const { refusal } = reading;
  const options = { body, stream: settings.stream, native, refusal, dropped };
  const opened = await chat.open(call, request, options);
  if (opened.kind === "stream") {
    void opened.pipe(createEncoder(response, keep, toolOf, makeOutput));
    return undefined;
  }
  const ended =
    opened.native === undefined
      ? responseOf(response, opened.completion, toolOf, makeOutput)
      : nativeResponse(opened.native, response);
  await keep(ended);
  return ended;
}

async function keepResponse(
  { archive, log }: ResponsesServices,
  call: Call,
  { input, settings }: Asked,
  response: JsonObject,
): Promise<void> {
  try {
    const { previous } = settings;
    const kept = await archive.put(call.client, { response, input, previous });
    if (kept) return;
    const why = "a response was not stored: it is larger than all that its key may keep";
    log.warn({ id: call.id }, why);
  } catch (error) {
    // The response is there; only going on from it by its id will not be possible.
    log.warn({ id: call.id, err: error }, "a response could not be stored");
  }
}

function newResponseId(): string {
  return `resp_${randomBytes(16).toString("hex")}`;
}

/** Counted by a channel that speaks the format; estimated elsewhere. */
export async function countInputTokens(
  services: ResponsesServices,
  call: Call,
): Promise<JsonObject> {
  const { request, native } = await readRequest(services, call);
  const counted = await services.chat.countTokens(call, request, native);
  const tokens = counted ?? estimateTokens(request.messages, request.tools);
  return { object: "response.input_tokens", input_tokens: tokens };
}

/** By the channel itself where it can; elsewhere its model writes a summary. */
export async function compactConversation(
  services: ResponsesServices,
  call: Call,
): Promise<JsonObject> {
  const { body, input, request, native, reading } = await readRequest(services, call);
  const opened = await services.chat.open(call, summaryRequest(request), {
    body,
    stream: false,
    native: compactRequest(native),
    refusal: reading.refusal,
    dropped: reading.dropped,
  });
  if (opened.kind === "stream") throw new Error("a whole response was asked for");
  const id = newResponseId();
  if (opened.native !== undefined)
    return { ...(parseExact(opened.native.toString("utf8")) as JsonObject), id };
  return compactionOf(id, opened.completion, input);
}

/** For a channel that speaks the format: with the whole conversation, since only the gateway keeps it. */
function nativeRequest(body: JsonObject, items: readonly JsonObject[]): NativeRequest {
  const { previous_response_id: _, models: __, ...others } = body;
  const input = nativeItems(items);
  return { form: "responses", body: { ...others, input }, headers: {}, repeatsTexts: true };
}

/** Only what the route takes. */
function compactRequest({ body }: NativeRequest): NativeRequest {
  const { model, input, instructions } = body;
  const taken = instructions == null ? { model, input } : { model, input, instructions };
  return { form: "responses.compact", body: taken, headers: {}, repeatsTexts: true };
}

/** What a request may grow to by naming items: a thousand times the same large one is a small request. */
const MAX_REFERENCED_BYTES = 32 * 1024 * 1024;

/** Items that are only named are taken from the archive. */
async function withReferences(
  archive: Archive,
  call: Call,
  items: readonly JsonObject[],
): Promise<JsonObject[]> {
  const found = new Map<string, { item: JsonObject; bytes: number }>();
  let total = 0;
  const out: JsonObject[] = [];
  for (const [i, item] of items.entries()) {
    if (item.type !== "item_reference") {
      out.push(item);
      continue;
    }
    const id = typeof item.id === "string" ? item.id : "";
    const known = found.get(id) ?? sized(await archive.item(call.client, id));
    if (known === undefined) {
      const why = `There is no item ${JSON.stringify(item.id)}: it was not stored, or it is too old`;
      throw refused(`input[${i}].id`, why);
    }
    found.set(id, known);
    total += known.bytes;
    if (total > MAX_REFERENCED_BYTES)
      throw refused(`input[${i}]`, "The items that `input` names are too large together");
    out.push(known.item);
  }
  return out;
}

function sized(item: JsonObject | undefined): { item: JsonObject; bytes: number } | undefined {
  return item && { item, bytes: JSON.stringify(item).length };
}

export async function getResponse(archive: Archive, call: Call): Promise<JsonObject> {
  // A client that waits for events would take a whole response for a stream without any.
  if (call.query.get("stream") === "true")
    throw refused("stream", "A stored response comes whole: leave `stream` out");
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
  const data = input.map((item, i) => listed(item, `${call.params["id"]}_in_${i}`));
  if (call.query.get("order") !== "asc") data.reverse();
  return {
    object: "list",
    data,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
    has_more: false,
  };
}

/** With the fields that a listed item always has. */
function listed(item: JsonObject, id: string): JsonObject {
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
