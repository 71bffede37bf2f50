import { parseExact, stringifyExact } from "../json/exact-json.ts";
import type { SourceEvent, StreamPart } from "../types/parts.ts";

/** A `SourceEvent` whose parts are still being read. */
export class OpenSource implements SourceEvent {
  readonly format: string;
  readonly opens: number[] = [];
  parts: StreamPart[] = [];
  split = false;
  #value: Readonly<Record<string, unknown>> | undefined;
  #json: string | undefined;

  /** `json`: the upstream's own text, where it is to be written unchanged. One of the two must be there. */
  constructor(format: string, value: Record<string, unknown> | undefined, json?: string) {
    this.format = format;
    this.#value = value;
    this.#json = json;
  }

  /** The event is written in the upstream's own text. */
  keep(json: string): void {
    this.#json = json;
  }

  get value(): Readonly<Record<string, unknown>> {
    this.#value ??= parseExact(this.#json!) as Record<string, unknown>;
    return this.#value;
  }

  get json(): string {
    this.#json ??= stringifyExact(this.#value);
    return this.#json;
  }
}

/** How an encoder writes parts. */
export interface PartsWriting {
  /** All parts of the event have come unchanged. */
  event(event: SourceEvent): void;
  /** `next`: the part behind it. True: both were written. */
  part(part: StreamPart, next: StreamPart | undefined): boolean;
}

/** Goes through parts for an encoder of one format: whole events of that format where nothing of them was changed. */
export function writeParts(
  parts: readonly StreamPart[],
  format: string,
  writing: PartsWriting,
): void {
  for (let i = 0; i < parts.length; i++) {
    const part = parts[i]!;
    const { source } = part;
    if (source?.format === format && isWhole(source, parts, i)) {
      writing.event(source);
      i += source.parts.length - 1;
    } else if (writing.part(part, parts[i + 1]) === true) i++;
  }
}

function isWhole(source: SourceEvent, parts: readonly StreamPart[], at: number): boolean {
  if (source.split || parts.length - at < source.parts.length) return false;
  return source.parts.every((part, i) => part === parts[at + i]);
}
