/**
 * The routes: they read a request, ask the engine through the service `models`, answer in the Responses form, and store
 * responses.
 */
import { randomBytes } from "node:crypto";
import type { Call, Logger } from "portico";
import { type ModelsService, jsonBody } from "portico/models";
import {
  type ChatRequest,
  estimateTokens,
  type JsonObject,
  modelAt,
  type NativeRequest,
  bodyObject,
  parseExact,
} from "portico/provider";
import type { Archive } from "./archive.ts";
import { compactionOf, createSummaryOutput, summaryRequest } from "./compaction/compaction.ts";
import { nativeItems, nativeResponse } from "./native.ts";
import { createOutput } from "./output/output.ts";
import { readConversation } from "./chat-request.ts";
import { Reading } from "./reading.ts";
import { fillReferences } from "./references.ts";
import { readSettings, type ReadSettings } from "./request.ts";
import { newResponse, responseOf } from "./response.ts";
import { createEncoder } from "./stream.ts";
import type { ToolTable } from "./tools/tool-table.ts";

export interface ResponsesServices {
  chat: ModelsService;
  archive: Archive;
  log: Logger;
}

/** A translated request, in both forms in which it may go out. */
interface PreparedRequest {
  body: JsonObject;
  settings: ReadSettings;
  /** The items of the request itself, with references replaced by the items that they name. */
  input: JsonObject[];
  request: ChatRequest;
  native: NativeRequest;
  tools: ToolTable;
  reading: Reading;
}

/** Reads and translates a request. */
async function prepareRequest(
  { archive }: ResponsesServices,
  call: Call,
): Promise<PreparedRequest> {
  const body = bodyObject(await jsonBody(call), "`model` and `input`");
  const reading = new Reading();
  const settings = readSettings(body, reading);
  const input = await fillReferences(archive, call, settings.input);
  const { instructions, previous } = settings;
  const earlier = previous === undefined ? [] : await archive.conversation(call.client, previous);
  const conversation = readConversation(body, { instructions, earlier, input }, reading);
  const { messages, tools, toolMembers } = conversation;
  const chatRequest = { ...settings.request, ...toolMembers, model: modelAt(body), messages };
  const request = reading.compacts ? summaryRequest(chatRequest) : chatRequest;
  const native = nativeRequest(body, [...earlier, ...input]);
  return { body, settings, input, request, native, tools, reading };
}

export async function createResponse(
  services: ResponsesServices,
  call: Call,
): Promise<JsonObject | undefined> {
  const prepared = await prepareRequest(services, call);
  const { body, request, native, tools, reading } = prepared;
  const { stored, dropped } = decideStorage(services.archive, call, prepared);
  const response = newResponse(newResponseId(), body, stored);
  const store = (ended: JsonObject) =>
    stored ? storeResponse(services, call, prepared, ended) : undefined;
  const toolOf = (name: string) => tools.idOf(name);
  const makeOutput = reading.compacts ? createSummaryOutput : createOutput;
  const { stream } = prepared.settings;
  const options = { body, stream, native, refusal: reading.refusal, dropped };
  const opened = await services.chat.open(call, request, options);
  if (opened.kind === "stream") {
    void opened.pipe(createEncoder(response, store, toolOf, makeOutput));
    return undefined;
  }
  const ended =
    opened.native === undefined
      ? responseOf(response, opened.completion, toolOf, makeOutput)
      : nativeResponse(opened.native, opened.completion, response);
  await store(ended);
  return ended;
}

/** Decides whether to store the response, and lists all members of the request that have no effect. */
function decideStorage(
  archive: Archive,
  call: Call,
  { settings, input, reading }: PreparedRequest,
): { stored: boolean; dropped: string[] } {
  const dropped = [...settings.dropped, ...reading.dropped];
  const isRequested = settings.store && archive.isOn;
  const stored = isRequested && archive.accepts(call.client, input);
  if (isRequested && !stored) dropped.push("store");
  return { stored, dropped };
}

async function storeResponse(
  { archive, log }: ResponsesServices,
  call: Call,
  { input, settings }: PreparedRequest,
  response: JsonObject,
): Promise<void> {
  try {
    const { previous } = settings;
    const isStored = await archive.put(call.client, { response, input, previous });
    if (isStored) return;
    const message =
      "a response was not stored, because it is larger than the storage limit of its key";
    log.warn({ id: call.id }, message);
  } catch (error) {
    // The client still gets the response; it only cannot continue it by its id.
    log.warn({ id: call.id, err: error }, "a response could not be stored");
  }
}

function newResponseId(): string {
  return `resp_${randomBytes(16).toString("hex")}`;
}

/** Asks a channel that speaks the format for the count, and estimates it for others. */
export async function countInputTokens(
  services: ResponsesServices,
  call: Call,
): Promise<JsonObject> {
  const { request, native } = await prepareRequest(services, call);
  const counted = await services.chat.countTokens(call, request, native);
  const tokens = counted ?? estimateTokens(request.messages, request.tools);
  return { object: "response.input_tokens", input_tokens: tokens };
}

/** Compacts the conversation with the channel's own route if it has one; otherwise its model writes a summary. */
export async function compactConversation(
  services: ResponsesServices,
  call: Call,
): Promise<JsonObject> {
  const { body, input, request, native, reading } = await prepareRequest(services, call);
  const opened = await services.chat.open(call, summaryRequest(request), {
    body,
    stream: false,
    native: compactRequest(native),
    refusal: reading.refusal,
    dropped: reading.dropped,
  });
  if (opened.kind === "stream")
    throw new Error(
      "the upstream streamed its response although the gateway had asked for a non-streamed one",
    );
  const id = newResponseId();
  if (opened.native !== undefined)
    return { ...(parseExact(opened.native.toString("utf8")) as JsonObject), id };
  return compactionOf(id, opened.completion, input);
}

/** Builds the request for a channel that speaks the format. It holds the whole conversation, which only the gateway stores. */
function nativeRequest(body: JsonObject, items: readonly JsonObject[]): NativeRequest {
  const { previous_response_id: _, models: __, ...others } = body;
  const input = nativeItems(items);
  return { form: "responses", body: { ...others, input }, headers: {}, repeatsTexts: true };
}

/** Keeps only the members that the upstream's route accepts. */
function compactRequest({ body }: NativeRequest): NativeRequest {
  const { model, input, instructions } = body;
  const accepted = instructions == null ? { model, input } : { model, input, instructions };
  return { form: "responses.compact", body: accepted, headers: {}, repeatsTexts: true };
}
