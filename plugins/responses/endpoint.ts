/** The routes: they read a request, ask the engine through the service `models`, answer in the Responses form, and store responses. */
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
  const body = bodyObject(await jsonBody(call), "`model` and `input`");
  const reading = new Reading();
  const settings = readSettings(body, reading);
  const input = await fillReferences(archive, call, settings.input);
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
  const asked = await readRequest(services, call);
  const { body, request, native, tools, reading } = asked;
  const { stored, dropped } = decideStorage(services.archive, call, asked);
  const response = newResponse(newResponseId(), body, stored);
  const keep = (ended: JsonObject) =>
    stored ? keepResponse(services, call, asked, ended) : undefined;
  const toolOf = (name: string) => tools.idOf(name);
  const makeOutput = reading.compacts ? createSummaryOutput : createOutput;
  const { stream } = asked.settings;
  const options = { body, stream, native, refusal: reading.refusal, dropped };
  const opened = await services.chat.open(call, request, options);
  if (opened.kind === "stream") {
    void opened.pipe(createEncoder(response, keep, toolOf, makeOutput));
    return undefined;
  }
  const ended =
    opened.native === undefined
      ? responseOf(response, opened.completion, toolOf, makeOutput)
      : nativeResponse(opened.native, opened.completion, response);
  await keep(ended);
  return ended;
}

/** Whether the response is to be stored, and all members of the request that have no effect. */
function decideStorage(
  archive: Archive,
  call: Call,
  { settings, input, reading }: Asked,
): { stored: boolean; dropped: string[] } {
  const dropped = [...settings.dropped, ...reading.dropped];
  const isWanted = settings.store && archive.on;
  const stored = isWanted && archive.accepts(call.client, input);
  if (isWanted && !stored) dropped.push("store");
  return { stored, dropped };
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
    const why = "a response was not stored: it is larger than the whole space of its key";
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
  if (opened.kind === "stream")
    throw new Error("the upstream streamed a response that the gateway had requested whole");
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
