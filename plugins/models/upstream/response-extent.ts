/**
 * How much a response may be that is read as a whole. Its bytes alone do not say it: a few kilobytes of compressed data
 * unpack to as much as one likes, and a megabyte of `{},` costs more to parse than a hundred of one text.
 */
import { UpstreamError } from "portico/provider";

export interface Limits {
  /** Unpacked. */
  bytes: number;
  /** Objects, lists, and their members and items. */
  values: number;
}

const MIB = 1024 * 1024;
/** More than the largest images and sounds in base64 come to. */
export const WHOLE_RESPONSE: Limits = { bytes: 64 * MIB, values: 1_000_000 };
/** So many numbers has the longest vector, written on a line each. */
const NUMBERS = 8192;
const NUMBER_BYTES = 24;

/** Of a response with so many vectors. */
export function limitsOfVectors(vectors: number): Limits {
  const { bytes, values } = WHOLE_RESPONSE;
  return { bytes: bytes + vectors * NUMBERS * NUMBER_BYTES, values: values + vectors * NUMBERS };
}

/** Asking again would only bring as much again. */
export class ResponseTooLarge extends UpstreamError {
  /** `excess`: see `ResponseExtent`. */
  constructor(what: string, excess: string) {
    super("upstream_error", `${what} ${excess}: too large to be read as a whole.`, {
      kind: "upstream",
      upstreamStatus: 0,
      status: 502,
      type: "api_error",
    });
  }
}

const QUOTE = 34;
const COMMA = 44;
const BACKSLASH = 92;

/** Measures a response as it comes. */
export class ResponseExtent {
  /** `is larger than …`, once it is. */
  excess: string | undefined;
  readonly #limits: Limits;
  #size = 0;
  #values = 0;
  #inText = false;
  /** The last byte of a text that goes on escapes the next. */
  #escapes = false;

  constructor(limits: Limits) {
    this.#limits = limits;
  }

  push(bytes: Buffer): void {
    const { bytes: most, values } = this.#limits;
    this.#size += bytes.length;
    if (this.#size <= most) this.#count(bytes);
    if (this.#size > most) this.excess = `is larger than ${Math.floor(most / MIB)} MiB`;
    else if (this.#values > values) this.excess = `holds more than ${values} values`;
  }

  /** What is no JSON comes to some number as well. */
  #count(bytes: Buffer): void {
    for (let at = 0; at < bytes.length; at++) {
      if (this.#inText) {
        at = this.#endOfText(bytes, at);
        continue;
      }
      const code = bytes[at]!;
      if (code === QUOTE) this.#inText = true;
      // `{` and `[` differ in one bit
      else if (code === COMMA || (code | 32) === 123) this.#values++;
    }
  }

  /** Where its closing quote stands, or the bytes end. */
  #endOfText(bytes: Buffer, from: number): number {
    let start = from;
    for (;;) {
      const quote = bytes.indexOf(QUOTE, start);
      const end = quote === -1 ? bytes.length : quote;
      let slashes = 0;
      while (end - slashes > start && bytes[end - slashes - 1] === BACKSLASH) slashes++;
      const carried = this.#escapes && end - slashes === start;
      const escaped = (slashes % 2 === 1) !== carried;
      this.#escapes = quote === -1 && escaped;
      this.#inText = quote === -1 || escaped;
      if (quote === -1 || !escaped) return end;
      start = quote + 1;
    }
  }
}
