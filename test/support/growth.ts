/** Asserts that work grows linearly with its input: an input of 16 times the size must not take 256 times as long. */
import * as assert from "uvu/assert";

const TIMES = 16;
/** Shorter measurements are not meaningful. */
const FLOOR_MS = 8;
/** The factor by which linear work may exceed its share. Quadratic work exceeds it 16 times at the larger size. */
const TOLERANCE = 4;
const MAX_FACTOR = TIMES * TOLERANCE;

/** Measures CPU time, which other processes do not affect. Ignores an error of `work`. */
function cpuMs<T>(input: T, work: (input: T) => unknown): number {
  const before = process.cpuUsage();
  try {
    work(input);
  } catch {}
  return process.cpuUsage(before).user / 1_000;
}

/** Measures the CPU time of asynchronous work. */
async function cpuMsAwaited<T>(input: T, work: (input: T) => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage();
  await work(input).catch(() => {});
  return process.cpuUsage(before).user / 1_000;
}

/**
 * The number of rounds over the bound before the test fails, since the compiler or the garbage collector may disturb a
 * round.
 */
const ROUNDS = 4;

/** The shortest measurement of each size so far. */
class Growth {
  #small = Number.POSITIVE_INFINITY;
  #large = Number.POSITIVE_INFINITY;
  #rounds = 0;
  readonly #what: string;
  constructor(what: string) {
    this.#what = what;
  }

  /** True if the larger size alone is fast enough, whatever time the smaller one takes. */
  isLittle(large: number): boolean {
    this.#large = Math.min(this.#large, large);
    return this.#large <= FLOOR_MS * MAX_FACTOR;
  }

  /** True if the growth is linear so far. Throws if no further round can help. */
  isLinear(small: number): boolean {
    this.#small = Math.min(this.#small, small);
    const limit = Math.max(FLOOR_MS, this.#small) * MAX_FACTOR;
    if (this.#large <= limit) return true;
    const [first, last] = [this.#small, this.#large].map(Math.round);
    const isHopeless = ++this.#rounds === ROUNDS || this.#large > 10 * limit;
    assert.not.ok(
      isHopeless,
      `${this.#what}: ${first} ms, and ${last} ms for ${TIMES} times as much`,
    );
    return false;
  }
}

/** Asserts that `work` is linear. `make` creates an input of a size; the larger one has 16 times `size`. */
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

/** Asserts that asynchronous work is linear. */
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

/** Creates inputs that repeat one token, after a prefix that leads the parser to it. */
export const repeated =
  (token: string, before = "", after = "") =>
  (size: number): string =>
    before + token.repeat(Math.ceil(size / token.length)) + after;
