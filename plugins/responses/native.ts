/**
 * Responses of a channel that speaks the format itself. They go out unchanged, except for the members that the gateway
 * owns.
 */
import { exactJson } from "portico";
import {
  type ChatCompletion,
  isObject,
  type JsonObject,
  openExtras,
  parseExact,
  placeOf,
  type RawPart,
  repairCounts,
  type ResponseText,
  type SourceEvent,
  type StreamPart,
  stringifyExact,
  textsInEvent,
  textsInResponse,
} from "portico/provider";
import { openSummary } from "./compaction/summary.ts";

/** Members that the gateway sets, since it stores the conversation under its own ids. */
const OWN_MEMBERS = ["id", "store", "previous_response_id", "instructions", "background"] as const;

/** Replaces the members that the gateway owns. `begun` is the response that the gateway began. */
export function withOwnMembers(upstream: JsonObject, begun: JsonObject): JsonObject {
  const members = OWN_MEMBERS.map((name) => [name, begun[name]]);
  return { ...upstream, ...Object.fromEntries(members) };
}

/** Returns a channel's response with the call ids of `completion`, which are unique in the conversation. */
export function nativeResponse(
  body: Buffer,
  completion: ChatCompletion,
  begun: JsonObject,
): JsonObject {
  const response = parseExact(body.toString("utf8")) as JsonObject;
  repairCounts(response.usage);
  const ids = (completion.choices[0]?.message.tool_calls ?? []).map(({ id }) => id);
  const items = Array.isArray(response.output) ? response.output.filter(isModelCall) : [];
  for (const [i, item] of items.entries()) setCallId(item, ids[i]);
  return withOwnMembers(response, begun);
}

/** Returns true for a call that the completion holds as well. */
function isModelCall(item: unknown): boolean {
  if (!isObject(item)) return false;
  return item["type"] === "function_call" || item["type"] === "custom_tool_call";
}

function setCallId(item: unknown, id: string | undefined): void {
  if (id !== undefined && isModelCall(item)) (item as JsonObject).call_id = id;
}

/** Returns the items for an upstream of the format, without contents that this gateway sealed for itself. */
export function nativeItems(items: readonly JsonObject[]): JsonObject[] {
  return items.flatMap((item) => {
    const summary = openSummary(item.encrypted_content);
    if (summary !== undefined) return [{ type: "message", role: "user", content: summary }];
    if (item.type !== "reasoning") return [item];
    // Nothing is stored at the upstream, so it knows only reasoning that is sealed in the item.
    const isSealedByUpstream =
      item.encrypted_content != null && openExtras(item.encrypted_content) === undefined;
    return isSealedByUpstream ? [item] : [];
  });
}

/** Returns true for a raw part that holds an event of this format. */
export function isNativePart(part: StreamPart): boolean {
  return part.type === "raw" && part.format === "responses";
}

/**
 * Writes the events of a stream in this format, numbered from 0. The last one waits for `end`. An event that repeats a whole
 * text gets the text that was sent, since a hook or a mask may have changed its deltas. Likewise, an event gets the call id
 * that replaced the upstream's.
 */
export class NativeEvents {
  /** The response that the gateway began. */
  readonly #begun: JsonObject;
  #number = 0;
  #lastResponse: JsonObject | undefined;
  /** The place of the text or the arguments that are being written, for a delta whose event may not be sent. */
  #place: JsonObject = {};
  /** The texts that were sent so far, by their place. */
  readonly #texts = new Map<string, string>();
  /** Call ids that replace the upstream's, by the index of the item in the output. */
  readonly #callIds = new Map<number, string>();
  /** The id of the call that the next event begins. */
  #nextCallId: string | undefined;

  constructor(begun: JsonObject) {
    this.#begun = begun;
  }

  /** The number of the next event. */
  get number(): number {
    return this.#number;
  }

  /** The complete response, once the upstream has sent it. */
  get response(): JsonObject | undefined {
    return this.#lastResponse;
  }

  /** Writes an event unchanged, except for the texts and ids that it repeats. */
  writeEvent({ value, json, parts }: SourceEvent): string {
    const event = value as JsonObject;
    const type = String(event.type);
    for (const part of parts) if (isText(part)) this.#addText(placeOf(event), part.text);
    this.#updatePlace(type, event);
    if (isEnd(type)) return this.#finish(parseExact(json) as JsonObject);
    const isNumbered = event.sequence_number === this.#number && !isObject(event.response);
    const isUnchanged =
      isNumbered && !this.#repeatsOtherText(type, event) && !this.#namesOtherCall(event);
    if (isUnchanged) return this.#write(type, json);
    return this.#writeWhole(type, parseExact(json) as JsonObject);
  }

  /** Writes a part whose event may not be sent, because a hook or a mask changed something in it. */
  writePart(part: StreamPart): string {
    switch (part.type) {
      case "text":
        return this.#textDelta("response.output_text.delta", part.text, { logprobs: [] });
      case "refusal":
        return this.#textDelta("response.refusal.delta", part.text);
      case "reasoning":
        return this.#delta("response.reasoning_summary_text.delta", part.text);
      case "tool-arguments":
        return this.#delta("response.function_call_arguments.delta", part.text);
      case "annotation": {
        const { annotation } = part;
        return this.#writeValue({
          type: "response.output_text.annotation.added",
          ...this.#place,
          annotation,
        });
      }
      case "tool-call":
        // The event that begins the item follows as a separate part.
        this.#nextCallId = part.id;
        return "";
      case "raw":
        return this.#writeRaw(part);
      default:
        return "";
    }
  }

  /** Writes the last event. */
  writeEnd(response: JsonObject): string {
    return this.#writeValue({ type: `response.${String(response.status)}`, response });
  }

  #writeRaw(part: RawPart): string {
    if (!isNativePart(part)) return "";
    const event = exactJson.copy(part.members) as JsonObject;
    const type = String(event.type);
    this.#updatePlace(type, event);
    if (type === "response.output_item.added") this.#assignCallId(event);
    return isEnd(type) ? this.#finish(event) : this.#writeWhole(type, event);
  }

  #assignCallId({ output_index: index }: JsonObject): void {
    if (this.#nextCallId === undefined) return;
    this.#callIds.set(Number(index ?? 0), this.#nextCallId);
    this.#nextCallId = undefined;
  }

  #finish({ response }: JsonObject): string {
    const last = response as JsonObject;
    this.#lastResponse = last;
    this.#setTexts(textsInResponse(last));
    const items = Array.isArray(last.output) ? last.output : [];
    for (const [i, item] of items.entries()) setCallId(item, this.#callIds.get(i));
    return "";
  }

  #namesOtherCall({ item, output_index: index }: JsonObject): boolean {
    return isObject(item) && this.#callIds.has(Number(index ?? 0));
  }

  /** Returns true if the event holds a text that differs from the one that was sent. */
  #repeatsOtherText(type: string, event: JsonObject): boolean {
    return textsInEvent(type, event).some(({ place, text }) => text !== this.#texts.get(place));
  }

  #writeWhole(type: string, event: JsonObject): string {
    this.#setTexts(textsInEvent(type, event));
    setCallId(event.item, this.#callIds.get(Number(event.output_index ?? 0)));
    return this.#writeValue(event);
  }

  #setTexts(texts: readonly ResponseText[]): void {
    for (const { place, text, set } of texts) {
      const written = this.#texts.get(place) ?? "";
      if (written !== text) set(written);
    }
  }

  #updatePlace(type: string, event: JsonObject): void {
    const { item_id, output_index, content_index, summary_index, item } = event;
    if (type === "response.output_item.added" && isObject(item))
      this.#place = { item_id: item.id, output_index, content_index: 0 };
    else if (item_id !== undefined)
      this.#place = { item_id, output_index, content_index, summary_index };
  }

  #addText(place: string, text: string): void {
    this.#texts.set(place, (this.#texts.get(place) ?? "") + text);
  }

  #textDelta(type: string, delta: string, more: JsonObject = {}): string {
    this.#addText(placeOf(this.#place), delta);
    return this.#delta(type, delta, more);
  }

  #delta(type: string, delta: string, more: JsonObject = {}): string {
    return this.#writeValue({ type, ...this.#place, delta, ...more });
  }

  #writeValue(value: JsonObject): string {
    const { response } = value;
    const changed = isObject(response) ? { response: withOwnMembers(response, this.#begun) } : {};
    const numbered = { ...value, sequence_number: this.#number, ...changed };
    return this.#write(String(value.type), stringifyExact(numbered));
  }

  #write(type: string, json: string): string {
    this.#number++;
    return `event: ${type}\ndata: ${json}\n\n`;
  }
}

function isText(part: StreamPart): part is Extract<StreamPart, { logprobs?: unknown }> {
  return part.type === "text" || part.type === "refusal";
}

function isEnd(type: string): boolean {
  return type === "response.completed" || type === "response.incomplete";
}
