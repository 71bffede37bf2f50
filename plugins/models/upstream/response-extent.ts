/**
 * Limits the size of a response that is read as a whole. Limiting its bytes is not enough: a few kilobytes of
 * compressed data unpack to any size, and a megabyte of `{},` costs more to parse than a hundred megabytes of one text.
 */
import { JsonExtent } from "portico/provider";

export interface Limits {
  /** After decompression. */
  bytes: number;
  /** The number of objects, arrays, and their members and items. */
  values: number;
}

const MIB = 1024 * 1024;
/** More than the largest images and sounds in base64 require. */
export const WHOLE_RESPONSE: Limits = { bytes: 64 * MIB, values: 200_000 };
const MAX_DEPTH = 500;
/** The longest vector has this many numbers; some servers write each on its own line. */
const NUMBERS = 8192;
const NUMBER_BYTES = 24;

/** Returns the limits of a response with that number of vectors. */
export function limitsOfVectors(vectors: number): Limits {
  const { bytes, values } = WHOLE_RESPONSE;
  return { bytes: bytes + vectors * NUMBERS * NUMBER_BYTES, values: values + vectors * NUMBERS };
}

/** Measures a response while it is received. */
export class ResponseExtent {
  /** The exceeded limit, as `is larger than …`; undefined if none is. */
  excess: string | undefined;
  readonly #limits: Limits;
  readonly #json = new JsonExtent();
  #size = 0;

  constructor(limits: Limits) {
    this.#limits = limits;
  }

  push(bytes: Buffer): void {
    const { bytes: maxBytes, values } = this.#limits;
    this.#size += bytes.length;
    if (this.#size <= maxBytes) this.#json.push(bytes);
    if (this.#size > maxBytes) this.excess = `is larger than ${Math.floor(maxBytes / MIB)} MiB`;
    else if (this.#json.values > values) this.excess = `holds more than ${values} values`;
    else if (this.#json.depth > MAX_DEPTH)
      this.excess = `holds objects and lists nested more than ${MAX_DEPTH} levels deep`;
  }
}
