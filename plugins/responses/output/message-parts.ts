/** The parts of a message while they are being written. */
import type { JsonObject } from "portico/provider";
import { membersOf, type OutputEvents } from "./item-list.ts";

export class TextPart {
  readonly #events: OutputEvents;
  readonly #place: JsonObject;
  readonly #deltaPlace: string;
  readonly #logprobs: unknown[] = [];
  readonly #annotations: JsonObject[] = [];
  #text = "";

  constructor(events: OutputEvents, place: JsonObject) {
    this.#events = events;
    this.#place = place;
    this.#deltaPlace = membersOf(place);
    events.write("response.content_part.added", { ...place, part: this.#part() });
  }

  write(delta: string, logprobs: readonly unknown[]): void {
    this.#text += delta;
    for (const token of logprobs) this.#logprobs.push(token);
    const more = `,"logprobs":${JSON.stringify(logprobs)}`;
    this.#events.writeDelta("response.output_text.delta", this.#deltaPlace, delta, more);
  }

  annotate(annotation: JsonObject): void {
    const place = { ...this.#place, annotation_index: this.#annotations.length };
    this.#annotations.push(annotation);
    this.#events.write("response.output_text.annotation.added", { ...place, annotation });
  }

  /** Ends the part, and returns it complete. */
  end(): JsonObject {
    const part = this.#part();
    const { text, logprobs } = part;
    this.#events.write("response.output_text.done", { ...this.#place, text, logprobs });
    this.#events.write("response.content_part.done", { ...this.#place, part });
    return part;
  }

  #part(): JsonObject {
    const [annotations, logprobs] = [this.#annotations, this.#logprobs];
    return { type: "output_text", text: this.#text, annotations, logprobs };
  }
}

export class RefusalPart {
  readonly #events: OutputEvents;
  readonly #place: JsonObject;
  readonly #deltaPlace: string;
  #refusal = "";

  constructor(events: OutputEvents, place: JsonObject) {
    this.#events = events;
    this.#place = place;
    this.#deltaPlace = membersOf(place);
    events.write("response.content_part.added", { ...place, part: this.#part() });
  }

  write(delta: string): void {
    this.#refusal += delta;
    this.#events.writeDelta("response.refusal.delta", this.#deltaPlace, delta);
  }

  /** Ends the part, and returns it complete. */
  end(): JsonObject {
    const part = this.#part();
    this.#events.write("response.refusal.done", { ...this.#place, refusal: this.#refusal });
    this.#events.write("response.content_part.done", { ...this.#place, part });
    return part;
  }

  #part(): JsonObject {
    return { type: "refusal", refusal: this.#refusal };
  }
}
