/** Responses of a channel that speaks the format itself. They go out unchanged but for the members that the gateway owns. */
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

/** What the gateway knows better than the upstream: it keeps the conversation under ids of its own. */
const OWN_MEMBERS = ["id", "store", "previous_response_id", "instructions", "background"] as const;

/** `own`: the response as the gateway began it. */
export function withOwnMembers(upstream: JsonObject, own: JsonObject): JsonObject {
  const members = OWN_MEMBERS.map((name) => [name, own[name]]);
  return { ...upstream, ...Object.fromEntries(members) };
}

/** A response as its channel sent it, with ids of calls that the conversation does not hold yet: those of `completion`. */
export function nativeResponse(
  body: Buffer,
  completion: ChatCompletion,
  own: JsonObject,
): JsonObject {
  const response = parseExact(body.toString("utf8")) as JsonObject;
  repairCounts(response.usage);
  const ids = (completion.choices[0]?.message.tool_calls ?? []).map(({ id }) => id);
  const items = Array.isArray(response.output) ? response.output.filter(isModelCall) : [];
  for (const [i, item] of items.entries()) setCallId(item, ids[i]);
  return withOwnMembers(response, own);
}

/** A call that stands in the completion as well. */
function isModelCall(item: unknown): boolean {
  if (!isObject(item)) return false;
  return item["type"] === "function_call" || item["type"] === "custom_tool_call";
}

function setCallId(item: unknown, id: string | undefined): void {
  if (id !== undefined && isModelCall(item)) (item as JsonObject).call_id = id;
}

/** Items as an upstream of the format takes them: without what this gateway has sealed for itself. */
export function nativeItems(items: readonly JsonObject[]): JsonObject[] {
  return items.flatMap((item) => {
    const summary = openSummary(item.encrypted_content);
    if (summary !== undefined) return [{ type: "message", role: "user", content: summary }];
    if (item.type !== "reasoning") return [item];
    // Nothing is stored at the upstream: it knows no reasoning that does not come with the item.
    const isItsOwn =
      item.encrypted_content != null && openExtras(item.encrypted_content) === undefined;
    return isItsOwn ? [item] : [];
  });
}

/** The part is an event of such a stream, or of what was hidden in one. */
export function isNativePart(part: StreamPart): boolean {
  return part.type === "raw" && part.format === "responses";
}

/**
 * Writes the events of such a stream, numbered from 0. The last one waits for `end`. Where events repeat texts as a whole,
 * they repeat the pieces that went out, since a hook or a mask may have changed them. The same holds for the id of a call
 * that was replaced.
 */
export class NativeEvents {
  readonly #own: JsonObject;
  #number = 0;
  #last: JsonObject | undefined;
  /** Where the text, or the arguments, that are being written belong, for a piece that has lost its event. */
  #at: JsonObject = {};
  /** The texts that went out so far, by their place. */
  readonly #texts = new Map<string, string>();
  /** Ids of calls that replace the upstream's own ones, by the place of the item in the output. */
  readonly #callIds = new Map<number, string>();
  /** The id of the call whose item begins with the next event. */
  #nextCallId: string | undefined;

  constructor(own: JsonObject) {
    this.#own = own;
  }

  /** The number of the next event. */
  get number(): number {
    return this.#number;
  }

  /** The complete response, once it is there. */
  get response(): JsonObject | undefined {
    return this.#last;
  }

  /** An event that goes out unchanged, except for the texts and ids that it repeats. */
  event({ value, json, parts }: SourceEvent): string {
    const event = value as JsonObject;
    const type = String(event.type);
    for (const part of parts) if (isText(part)) this.#addText(placeOf(event), part.text);
    this.#remember(type, event);
    if (isEnd(type)) return this.#finish(parseExact(json) as JsonObject);
    const isNumbered = event.sequence_number === this.#number && !isObject(event.response);
    const isUnchanged =
      isNumbered && !this.#repeatsOtherText(type, event) && !this.#namesOtherCall(event);
    if (isUnchanged) return this.#write(type, json);
    return this.#writeWhole(type, parseExact(json) as JsonObject);
  }

  /** A part whose event may not go out, because a hook or a mask changed something in it. */
  part(part: StreamPart): string {
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
          ...this.#at,
          annotation,
        });
      }
      case "tool-call":
        // The event that begins the item follows as a part of its own.
        this.#nextCallId = part.id;
        return "";
      case "raw":
        return this.#raw(part);
      default:
        return "";
    }
  }

  /** The last event. */
  end(response: JsonObject): string {
    return this.#writeValue({ type: `response.${String(response.status)}`, response });
  }

  #raw(part: RawPart): string {
    if (!isNativePart(part)) return "";
    const event = exactJson.copy(part.members) as JsonObject;
    const type = String(event.type);
    this.#remember(type, event);
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
    this.#last = last;
    this.#setTexts(textsInResponse(last));
    const items = Array.isArray(last.output) ? last.output : [];
    for (const [i, item] of items.entries()) setCallId(item, this.#callIds.get(i));
    return "";
  }

  #namesOtherCall({ item, output_index: index }: JsonObject): boolean {
    return isObject(item) && this.#callIds.has(Number(index ?? 0));
  }

  /** The event holds texts other than those that went out. */
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

  #remember(type: string, event: JsonObject): void {
    const { item_id, output_index, content_index, summary_index, item } = event;
    if (type === "response.output_item.added" && isObject(item))
      this.#at = { item_id: item.id, output_index, content_index: 0 };
    else if (item_id !== undefined)
      this.#at = { item_id, output_index, content_index, summary_index };
  }

  #addText(place: string, text: string): void {
    this.#texts.set(place, (this.#texts.get(place) ?? "") + text);
  }

  #textDelta(type: string, delta: string, more: JsonObject = {}): string {
    this.#addText(placeOf(this.#at), delta);
    return this.#delta(type, delta, more);
  }

  #delta(type: string, delta: string, more: JsonObject = {}): string {
    return this.#writeValue({ type, ...this.#at, delta, ...more });
  }

  #writeValue(value: JsonObject): string {
    const { response } = value;
    const own = isObject(response) ? { response: withOwnMembers(response, this.#own) } : {};
    const numbered = { ...value, sequence_number: this.#number, ...own };
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
