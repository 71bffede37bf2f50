/**
 * Limits the size of a response that is read as a whole. Counting its bytes is not enough: a few kilobytes of compressed
 * data unpack to any size, and a megabyte of `{},` costs more to parse than a hundred megabytes of one text.
 */
import { JsonExtent } from "portico/provider";

export interface Limits {
  /** Unpacked. */
  bytes: number;
  /** Objects, lists, and their members and items. */
  values: number;
}

const MIB = 1024 * 1024;
/** More than the largest images and sounds in base64 come to. */
export const WHOLE_RESPONSE: Limits = { bytes: 64 * MIB, values: 200_000 };
const MOST_DEPTH = 500;
/** So many numbers has the longest vector, written on a line each. */
const NUMBERS = 8192;
const NUMBER_BYTES = 24;

/** Of a response with so many vectors. */
export function limitsOfVectors(vectors: number): Limits {
  const { bytes, values } = WHOLE_RESPONSE;
  return { bytes: bytes + vectors * NUMBERS * NUMBER_BYTES, values: values + vectors * NUMBERS };
}

/** Measures a response while it is received. */
export class ResponseExtent {
  /** The exceeded limit, as `is larger than …`; undefined as long as there is none. */
  excess: string | undefined;
  readonly #limits: Limits;
  readonly #json = new JsonExtent();
  #size = 0;

  constructor(limits: Limits) {
    this.#limits = limits;
  }

  push(bytes: Buffer): void {
    const { bytes: most, values } = this.#limits;
    this.#size += bytes.length;
    if (this.#size <= most) this.#json.push(bytes);
    if (this.#size > most) this.excess = `is larger than ${Math.floor(most / MIB)} MiB`;
    else if (this.#json.values > values) this.excess = `holds more than ${values} values`;
    else if (this.#json.depth > MOST_DEPTH)
      this.excess = `holds objects and lists nested more than ${MOST_DEPTH} levels deep`;
  }
}
