/** Responses of a channel that speaks the format itself: they go out as they came, with what the gateway keeps put right. */
import {
  isObject,
  type JsonObject,
  openExtras,
  parseExact,
  type RawPart,
  type SourceEvent,
  type StreamPart,
  stringifyExact,
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

/** Writes the events of such a stream, numbered from 0. The last one waits for `end`. */
export class NativeEvents {
  readonly #own: JsonObject;
  #number = 0;
  #last: JsonObject | undefined;
  /** The place of the text that is being written, for a piece of it that has lost its event. */
  #place: JsonObject = {};

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
  event({ value, json }: SourceEvent): string {
    const { type, response, sequence_number: number, item_id: id } = value as JsonObject;
    if (id !== undefined) this.#remember(value as JsonObject);
    if (isEnd(type)) {
      this.#last = (parseExact(json) as { response: JsonObject }).response;
      return "";
    }
    if (number === this.#number && !isObject(response)) return this.#write(String(type), json);
    return this.#writeValue(parseExact(json) as JsonObject);
  }

  /** A part whose event may not go out as it came: something in it was hidden. */
  part(part: StreamPart): string {
    switch (part.type) {
      case "text":
        return this.#delta("response.output_text.delta", part.text, { logprobs: [] });
      case "refusal":
        return this.#delta("response.refusal.delta", part.text);
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

  #raw({ at, members }: RawPart): string {
    if (at !== "chunk") return "";
    const { type, response } = members as JsonObject;
    if (typeof type === "string") return this.#writeValue(members as JsonObject);
    if (isObject(response)) this.#last = response;
    return "";
  }

  #remember({ item_id, output_index, content_index, summary_index }: JsonObject): void {
    this.#place = { item_id, output_index, content_index, summary_index };
  }

  #delta(type: string, delta: string, more: JsonObject = {}): string {
    return this.#writeValue({ type, ...this.#place, delta, ...more });
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

function isEnd(type: unknown): boolean {
  return type === "response.completed" || type === "response.incomplete";
}
