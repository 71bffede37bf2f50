/** Reads one stream of the Responses format. Each part refers to its event, which is written unchanged. */
import { ContentBlocks } from "../parts/content-blocks.ts";
import { createPartDecoder } from "../parts/decoder.ts";
import { PartWriter } from "../parts/part-writer.ts";
import { OpenSource } from "../parts/source.ts";
import { isObject } from "../request/is-object.ts";
import { cutShort, notJson } from "../response/errors-in-response.ts";
import { parseResponse } from "../response/parse-response.ts";
import { repairCounts } from "../response/token-counts.ts";
import { readText } from "../response/read-members.ts";
import { createSseParser } from "../stream/sse-parser.ts";
import type { PartDecoder } from "../types/parts.ts";
import type { Target, WireRequest } from "../types/provider.ts";
import { placeOf, textsInEvent } from "./texts.ts";
import { membersOf, responseError, responseFinish, responseUsage } from "./response-object.ts";

interface Event {
  type?: string;
  output_index?: number;
  content_index?: number;
  delta?: unknown;
  item?: Record<string, unknown>;
  response?: Record<string, unknown>;
  annotation?: Record<string, unknown>;
  error?: unknown;
}

export function decodeResponseStream(_: WireRequest, target: Target): PartDecoder {
  return new EventReader(target).decoder();
}

class EventReader {
  readonly #out: PartWriter;
  readonly #blocks: ContentBlocks;
  readonly #target: Target;
  /** The places of texts that have been read. */
  readonly #readPlaces = new Set<string>();
  #done = false;

  constructor(target: Target) {
    const { id, created, model } = target;
    this.#target = target;
    this.#out = new PartWriter({ id, created, model }, { isNative: true });
    this.#blocks = new ContentBlocks(this.#out, "");
  }

  decoder(): PartDecoder {
    const parser = createSseParser((data, name) => this.#readEvent(data, name));
    return createPartDecoder({
      out: this.#out,
      reader: parser,
      close: () => {
        if (!this.#done) throw cutShort();
      },
      done: () => this.#done,
    });
  }

  #readEvent(data: Buffer, name: string): void {
    if (this.#done || data.toString("latin1").trim() === "[DONE]") return;
    const event = parseResponse(data) as Event | undefined;
    if (event === undefined) throw notJson();
    const type = event.type ?? name;
    if (type === "error") throw responseError(event as Record<string, unknown>);
    if (type === "response.failed") throw responseError(membersOf(event.response));
    const isRepaired = repairCounts(event.response?.["usage"]);
    // The JSON may span several lines of data. Between its tokens a line end means the same as a space.
    const json = isRepaired ? undefined : data.toString("utf8").replace(/[\r\n]/g, " ");
    const source = new OpenSource("responses", { ...event, type }, json);
    this.#out.event(source, () => {
      this.#readMissedTexts(type, event);
      this.#read(type, event);
    });
  }

  /** Adds texts that have had no deltas, from an event that usually repeats texts. */
  #readMissedTexts(type: string, event: Event): void {
    for (const { place, kind, text } of textsInEvent(type, event as Record<string, unknown>)) {
      if (text === "" || this.#readPlaces.has(place)) continue;
      this.#readPlaces.add(place);
      if (kind === "refusal") this.#out.refusal(text);
      else this.#out.text(text);
    }
  }

  #read(type: string, event: Event): void {
    const index = event.output_index ?? 0;
    const delta = readText(event.delta, "");
    switch (type) {
      case "response.created":
        this.#begin(membersOf(event.response));
        this.#addRawEvent(type, event);
        return;
      case "response.output_text.delta":
        this.#readPlaces.add(placeOf(event));
        this.#out.text(delta);
        return;
      case "response.refusal.delta":
        this.#readPlaces.add(placeOf(event));
        this.#out.refusal(delta);
        return;
      case "response.reasoning_text.delta":
      case "response.reasoning_summary_text.delta":
        this.#out.reasoning(delta);
        return;
      case "response.output_item.added":
        this.#beginCall(index, membersOf(event.item));
        this.#addRawEvent(type, event);
        return;
      case "response.function_call_arguments.delta":
      case "response.custom_tool_call_input.delta":
        this.#blocks.toolArguments(index, delta);
        return;
      case "response.output_text.annotation.added":
        this.#addAnnotation(event.annotation);
        return;
      case "response.completed":
      case "response.incomplete":
        this.#end(event, membersOf(event.response));
        return;
      default:
        this.#addRawEvent(type, event);
    }
  }

  /** Adds an event that repeats others or has an unknown type, so that features that mask secrets see it. */
  #addRawEvent(type: string, event: Event): void {
    const members = { ...event, type } as Record<string, unknown>;
    this.#out.rawEvent("responses", members, textsInEvent(type, members).length > 0);
  }

  #begin({ id, model }: Record<string, unknown>): void {
    this.#out.start({
      id: typeof id === "string" ? `chatcmpl-${id}` : this.#target.id,
      model: readText(model, this.#target.model),
    });
    this.#out.begin(0);
  }

  #beginCall(index: number, { type, call_id: id, name }: Record<string, unknown>): void {
    if (type !== "function_call" && type !== "custom_tool_call") return;
    this.#blocks.toolCall(index, readText(id, ""), readText(name, ""));
  }

  #addAnnotation(annotation: unknown): void {
    if (isObject(annotation)) this.#out.add({ type: "annotation", choice: 0, annotation });
  }

  #end(event: Event, response: Record<string, unknown>): void {
    const usage = responseUsage(response["usage"]);
    if (usage !== undefined) this.#out.tell(usage);
    this.#out.rawEvent("responses", event as Record<string, unknown>, true);
    this.#blocks.endAll();
    this.#out.finish(responseFinish(response));
    this.#done = true;
  }
}
