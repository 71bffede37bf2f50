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

  /** `json` is the upstream's own text, if it is to be written unchanged. Either `value` or `json` is required. */
  constructor(format: string, value: Record<string, unknown> | undefined, json?: string) {
    this.format = format;
    this.#value = value;
    this.#json = json;
  }

  /** Sets the upstream's own text, which is then written instead of the serialised value. */
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

/** The callbacks with which an encoder writes parts. */
export interface PartsWriting {
  /** Writes an event all of whose parts are unchanged. */
  event(event: SourceEvent): void;
  /** Writes a part. `next` is the part that follows. Returns true if it wrote both. */
  part(part: StreamPart, next: StreamPart | undefined): boolean;
}

/** Writes parts with an encoder of one format. Writes events of that format as a whole if none of their parts was changed. */
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
