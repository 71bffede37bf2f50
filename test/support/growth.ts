/** Whether work grows in line with its input: a text of 16 times the size may not take 256 times as long. */
import * as assert from "uvu/assert";

const TIMES = 16;
/** Below this a measurement says nothing. */
const FLOOR_MS = 8;
/** A quadratic one is 16 times over at the larger size; a linear one may be unlucky. */
const GENEROUS = 4;
const MOST = TIMES * GENEROUS;

/** CPU time, so that other processes change nothing. What `work` throws counts as done. */
function cpuMs<T>(input: T, work: (input: T) => unknown): number {
  const before = process.cpuUsage();
  try {
    work(input);
  } catch {}
  return process.cpuUsage(before).user / 1_000;
}

/** The same for work that is awaited. */
async function cpuMsAwaited<T>(input: T, work: (input: T) => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage();
  await work(input).catch(() => {});
  return process.cpuUsage(before).user / 1_000;
}

/** Of measurements that are over the bound: each may have met the compiler or a collection. */
const ROUNDS = 4;

/** What was measured so far, the least of each size. */
class Growth {
  #small = Number.POSITIVE_INFINITY;
  #large = Number.POSITIVE_INFINITY;
  #rounds = 0;
  readonly #what: string;
  constructor(what: string) {
    this.#what = what;
  }

  /** Whether the larger size decides alone, which is right for whatever the smaller one takes. */
  isLittle(large: number): boolean {
    this.#large = Math.min(this.#large, large);
    return this.#large <= FLOOR_MS * MOST;
  }

  /** Throws when no further round can help. */
  isLinear(small: number): boolean {
    this.#small = Math.min(this.#small, small);
    const most = Math.max(FLOOR_MS, this.#small) * MOST;
    if (this.#large <= most) return true;
    const [first, last] = [this.#small, this.#large].map(Math.round);
    const isHopeless = ++this.#rounds === ROUNDS || this.#large > 10 * most;
    assert.not.ok(
      isHopeless,
      `${this.#what}: ${first} ms, and ${last} ms for ${TIMES} times as much`,
    );
    return false;
  }
}

/** `make` gives an input of a size; the larger is 16 times `size`. */
export function assertLinear<T>(
  what: string,
  size: number,
  make: (size: number) => T,
  work: (input: T) => unknown,
): void {
  const growth = new Growth(`${what}, ${size}`);
  const large = make(size * TIMES);
  if (growth.isLittle(cpuMs(large, work))) return;
  const small = make(size);
  while (!growth.isLinear(cpuMs(small, work))) if (growth.isLittle(cpuMs(large, work))) return;
}

/** The same for work that is awaited. */
export async function assertLinearAsync<T>(
  what: string,
  size: number,
  make: (size: number) => T,
  work: (input: T) => Promise<unknown>,
): Promise<void> {
  const growth = new Growth(`${what}, ${size}`);
  const large = make(size * TIMES);
  if (growth.isLittle(await cpuMsAwaited(large, work))) return;
  const small = make(size);
  while (!growth.isLinear(await cpuMsAwaited(small, work)))
    if (growth.isLittle(await cpuMsAwaited(large, work))) return;
}

/** Texts that are one token over and over, behind a beginning that leads the parser to it. */
export const repeated =
  (token: string, before = "", after = "") =>
  (size: number): string =>
    before + token.repeat(Math.ceil(size / token.length)) + after;
