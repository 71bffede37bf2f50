/** Responses of a channel that speaks the format itself: they go out as they came, with what the gateway keeps put right. */
import {
  isObject,
  type JsonObject,
  openExtras,
  parseExact,
  placeOf,
  type RawPart,
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

export function nativeResponse(body: Buffer, own: JsonObject): JsonObject {
  return withOwnMembers(parseExact(body.toString("utf8")) as JsonObject, own);
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
 * Writes the events of such a stream, numbered from 0. The last one waits for `end`. Texts that events repeat are written
 * as they went out piece by piece: a hook or a mask may have changed the pieces.
 */
export class NativeEvents {
  readonly #own: JsonObject;
  #number = 0;
  #last: JsonObject | undefined;
  /** Where the text, or the arguments, that are being written belong, for a piece that has lost its event. */
  #at: JsonObject = {};
  /** The texts that went out so far, by their place. */
  readonly #texts = new Map<string, string>();

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

  /** An event that comes as it is to go out. */
  event({ value, json, parts }: SourceEvent): string {
    const event = value as JsonObject;
    const type = String(event.type);
    for (const part of parts) if (isText(part)) this.#addText(placeOf(event), part.text);
    this.#remember(type, event);
    if (isEnd(type)) return this.#finish(parseExact(json) as JsonObject);
    const isAsItIs = event.sequence_number === this.#number && !isObject(event.response);
    if (isAsItIs && !this.#repeatsOther(type, event)) return this.#write(type, json);
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
    const event = structuredClone(part.members) as JsonObject;
    const type = String(event.type);
    this.#remember(type, event);
    return isEnd(type) ? this.#finish(event) : this.#writeWhole(type, event);
  }

  #finish({ response }: JsonObject): string {
    this.#last = response as JsonObject;
    this.#setTexts(textsInResponse(this.#last));
    return "";
  }

  /** The event holds texts other than those that went out. */
  #repeatsOther(type: string, event: JsonObject): boolean {
    return textsInEvent(type, event).some(({ place, text }) => text !== this.#texts.get(place));
  }

  #writeWhole(type: string, event: JsonObject): string {
    this.#setTexts(textsInEvent(type, event));
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
