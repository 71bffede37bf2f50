/** Writes the parts of a stream as the events of a response, numbered from 0. */
import type { PorticoError } from "portico";
import {
  type JsonObject,
  PartSequence,
  type StreamEncoder,
  type StreamPart,
  stringifyExact,
  type Usage,
  writeParts,
} from "portico/provider";
import { isNativePart, NativeEvents, withOwnMembers } from "./native.ts";
import type { ToolOf } from "./output/call-items.ts";
import type { OutputEvents } from "./output/item-list.ts";
import { createOutput, type Output, type OutputFactory } from "./output/output.ts";
import { incompleteReason, endResponse, failedResponse, writePart } from "./response.ts";

/** Stores the finished response, if it is to be stored. The last event waits for the promise. */
type StoreResponse = (ended: JsonObject) => Promise<void> | undefined;

export function createEncoder(
  response: JsonObject,
  store: StoreResponse,
  toolOf: ToolOf,
  makeOutput: OutputFactory = createOutput,
): StreamEncoder {
  return new ResponseEncoder(response, store, (events) =>
    makeOutput(String(response.id), events, toolOf),
  );
}

class ResponseEncoder implements StreamEncoder {
  readonly #response: JsonObject;
  readonly #store: StoreResponse;
  readonly #events = new NumberedEvents();
  readonly #output: Output;
  readonly #sequence = new PartSequence((part) => this.#add(part));
  readonly #native: NativeEvents;
  #model: string;
  #finish: string | null = null;
  #usage: Usage | undefined;
  /** The channel speaks the format, so that its own events are sent. */
  #isNative = false;
  /** The upstream has begun. The first event waits until it is clear whether the upstream's events are sent. */
  #hasBegun = false;

  constructor(
    response: JsonObject,
    store: StoreResponse,
    makeOutput: (events: OutputEvents) => Output,
  ) {
    this.#response = response;
    this.#store = store;
    this.#model = response.model as string;
    this.#native = new NativeEvents(response);
    this.#output = makeOutput(this.#events);
  }

  write(parts: readonly StreamPart[]): string {
    let native = "";
    writeParts(parts, "responses", {
      event: (event) => {
        this.#isNative = true;
        native += this.#native.writeEvent(event);
      },
      part: (part) => {
        this.#isNative ||= isNativePart(part);
        if (this.#isNative) native += this.#native.writePart(part);
        else this.#sequence.add(part);
        return false;
      },
    });
    if (this.#hasBegun && !this.#isNative) this.#start();
    return this.#events.take() + native;
  }

  end(): string | Promise<string> {
    if (this.#native.response !== undefined) return this.#endNative(this.#native.response);
    this.#sequence.end();
    this.#start();
    const finish = this.#finish;
    this.#output.end(incompleteReason(finish) !== undefined);
    const ended = endResponse(this.#response, {
      model: this.#model,
      items: this.#output.items,
      finish,
      usage: this.#usage,
    });
    const writeEnd = () => {
      this.#events.write(`response.${String(ended.status)}`, { response: ended });
      return this.#events.take();
    };
    return this.#store(ended)?.then(writeEnd) ?? writeEnd();
  }

  fail(error: PorticoError): string {
    this.#sequence.end();
    if (this.#isNative) this.#events.next = this.#native.number;
    this.#start();
    this.#events.write("error", errorFields(error));
    const soFar = { ...this.#response, model: this.#model, output: this.#output.items };
    this.#events.write("response.failed", { response: failedResponse(soFar, error) });
    return this.#events.take();
  }

  error(error: PorticoError): string {
    const number = this.#isNative ? this.#native.number : this.#events.next;
    return eventText("error", number, errorFields(error));
  }

  #start(): void {
    if (this.#events.next > 0) return;
    const response = { ...this.#response, model: this.#model };
    this.#events.write("response.created", { response });
    this.#events.write("response.in_progress", { response });
  }

  #add(part: StreamPart): void {
    switch (part.type) {
      case "start":
        this.#model = part.model;
        this.#hasBegun = true;
        return;
      case "usage":
        this.#usage = part.usage;
        return;
      case "comment":
        return;
      default:
        this.#start();
        if (part.choice === 0) writePart(this.#output, part);
        if (part.type === "finish" && part.choice === 0) this.#finish = part.reason;
    }
  }

  #endNative(upstream: JsonObject): string | Promise<string> {
    const ended = withOwnMembers(upstream, this.#response);
    const writeEnd = () => this.#native.writeEnd(ended);
    return this.#store(ended)?.then(writeEnd) ?? writeEnd();
  }
}

/** Numbers the events and buffers their text until `take`. */
class NumberedEvents implements OutputEvents {
  /** The number of the next event. */
  next = 0;
  #text = "";

  write(type: string, fields: JsonObject): void {
    this.#text += eventText(type, this.next, fields);
    this.next++;
  }

  /** Writes the same text as `write`, without serialising an object for each of many deltas. */
  writeDelta(type: string, place: string, delta: string, more = ""): void {
    const members = `{"type":"${type}","sequence_number":${this.next},${place}`;
    this.#text += `event: ${type}\ndata: ${members},"delta":${JSON.stringify(delta)}${more}}\n\n`;
    this.next++;
  }

  take(): string {
    const text = this.#text;
    this.#text = "";
    return text;
  }
}

function errorFields({ code, message, param }: PorticoError): JsonObject {
  return { code, message, param: param ?? null };
}

function eventText(type: string, number: number, fields: JsonObject): string {
  return `event: ${type}\ndata: ${stringifyExact({ type, sequence_number: number, ...fields })}\n\n`;
}
