/**
 * The numbers by which callers refer to elements, in one table per tab. The library's refs (`e10`, `f5e10`) are unique
 * only within a document. Our numbers are never reused, so an outdated one can only miss, not match another element.
 * The tabs of a profile share a counter, so a ref of one tab is unknown in another. AI snapshots print `12`, role
 * snapshots `e12`; both are the same entry.
 */
import { errors } from "../errors.ts";

export interface RefEntry {
  readonly n: number;
  /** The library's ref of the element. */
  readonly native: string;
  readonly role: string;
  readonly name: string;
}

/** The maximum number of entries. The oldest are dropped first, since their documents no longer exist. */
const MAX_ENTRIES = 60_000;

/** Parses a ref: `12`, `"12"`, `"e12"`, `"@e12"` and `"ref=e12"` give 12, anything else `undefined`. */
export function refNumber(ref: unknown): number | undefined {
  if (typeof ref === "number") return Number.isSafeInteger(ref) && ref > 0 ? ref : undefined;
  if (typeof ref !== "string") return undefined;
  const digits = /^\s*(?:@|ref=|\[ref=)?e?(\d{1,12})\]?\s*$/.exec(ref)?.[1];
  return digits === undefined ? undefined : Number(digits);
}

/** The counter of a profile's tables: the highest number assigned so far. */
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

  /** True if the element has a number. */
  has(native: string): boolean {
    return this.#byNative.has(native);
  }

  /** Returns the number of an element. Assigns one if it has none. */
  number(native: string, role: string, name: string): number {
    const current = this.#byNative.get(native);
    if (current !== undefined) return current.n;
    const entry = { n: ++this.#counter.last, native, role, name };
    this.#byNative.set(native, entry);
    this.#byNumber.set(entry.n, entry);
    if (this.#byNumber.size > MAX_ENTRIES) {
      const [oldest] = this.#byNumber.values();
      this.#byNumber.delete(oldest!.n);
      this.#byNative.delete(oldest!.native);
    }
    return entry.n;
  }

  /** Returns the entry that a caller means. Throws a 400 for an invalid ref, a 404 for an unknown number. */
  find(ref: unknown, param = "ref"): RefEntry {
    const n = refNumber(ref);
    if (n === undefined) {
      const quotedRef = typeof ref === "string" ? ` ${JSON.stringify(ref.slice(0, 60))}` : "";
      throw errors.notARef({ given: `${param}${quotedRef}` }, { param });
    }
    const entry = this.#byNumber.get(n);
    if (entry !== undefined) return entry;
    throw errors.unknownRef({ ref: n }, { param, details: { ref: `e${n}`, candidates: [] } });
  }
}
