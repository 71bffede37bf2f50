/**
 * The numbers by which callers name elements. One table per tab: the library's own refs (`e10`, `f5e10`) are unique to
 * a document, ours are numbers that are never given twice, so an old one can only ever miss, not hit something else.
 * The tabs of a profile count together: a ref of one tab means nothing in another.
 * AI snapshots print `12`, role snapshots `e12`; both are the same entry.
 */
import { errors } from "../errors.ts";

export interface RefEntry {
  readonly n: number;
  /** The library's name of the element. */
  readonly native: string;
  readonly role: string;
  readonly name: string;
}

/** Entries beyond this are forgotten, oldest first: they belong to documents that are long gone. */
const KEPT = 60_000;

/** `12`, `"12"`, `"e12"`, `"@e12"`, `"ref=e12"` → 12; `undefined` for anything else. */
export function refNumber(given: unknown): number | undefined {
  if (typeof given === "number")
    return Number.isSafeInteger(given) && given > 0 ? given : undefined;
  if (typeof given !== "string") return undefined;
  const digits = /^\s*(?:@|ref=|\[ref=)?e?(\d{1,12})\]?\s*$/.exec(given)?.[1];
  return digits === undefined ? undefined : Number(digits);
}

/** What the tables of a profile count with: the highest number given so far. */
export interface RefCounter {
  last: number;
}

export class RefTable {
  readonly #counter: RefCounter;
  readonly #byNative = new Map<string, RefEntry>();
  readonly #byNumber = new Map<number, RefEntry>();

  constructor(counter: RefCounter = { last: 0 }) {
    this.#counter = counter;
  }

  /** True for an element that has a number. */
  has(native: string): boolean {
    return this.#byNative.has(native);
  }

  /** The number of an element, given now if it has none. */
  number(native: string, role: string, name: string): number {
    const known = this.#byNative.get(native);
    if (known !== undefined) return known.n;
    const entry = { n: ++this.#counter.last, native, role, name };
    this.#byNative.set(native, entry);
    this.#byNumber.set(entry.n, entry);
    if (this.#byNumber.size > KEPT) {
      const [oldest] = this.#byNumber.values();
      this.#byNumber.delete(oldest!.n);
      this.#byNative.delete(oldest!.native);
    }
    return entry.n;
  }

  /** The entry that a caller means. 400 for what is not a ref at all, 404 for a number that was never given. */
  find(given: unknown, param = "ref"): RefEntry {
    const n = refNumber(given);
    if (n === undefined) {
      const quotedRef = typeof given === "string" ? ` ${JSON.stringify(given.slice(0, 60))}` : "";
      throw errors.notARef({ given: `${param}${quotedRef}` }, { param });
    }
    const entry = this.#byNumber.get(n);
    if (entry !== undefined) return entry;
    throw errors.unknownRef({ ref: n }, { param, details: { ref: `e${n}`, candidates: [] } });
  }
}
