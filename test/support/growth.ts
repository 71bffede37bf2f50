/** Whether work grows in line with its input: a text of 16 times the size may not take 256 times as long. */
import * as assert from "uvu/assert";

/** Below this a measurement says nothing. */
const FLOOR_MS = 8;
/** A quadratic one is 16 times over at the largest size; a linear one may be unlucky. */
const GENEROUS = 4;

/** CPU time, so that other processes change nothing. What `work` throws counts as done. */
function cpuMs<T>(input: T, work: (input: T) => unknown): number {
  const before = process.cpuUsage();
  try {
    work(input);
  } catch {}
  return process.cpuUsage(before).user / 1_000;
}

/** `make` gives an input of a size; the largest is 16 times `size`. */
export function assertLinear<T>(
  what: string,
  size: number,
  make: (size: number) => T,
  work: (input: T) => unknown,
): void {
  const small = make(size);
  const first = Math.max(FLOOR_MS, Math.min(cpuMs(small, work), cpuMs(small, work)));
  for (const times of [4, 16]) {
    const input = make(size * times);
    const most = first * times * GENEROUS;
    let took = cpuMs(input, work);
    // Once more: the first may have met the compiler or a collection.
    if (took > most && took < 10 * most) took = Math.min(took, cpuMs(input, work));
    assert.ok(
      took <= most,
      `${what}: ${Math.round(first)} ms for a size of ${size}, ${Math.round(took)} ms for ${times} times as much`,
    );
  }
}

/** The same for work that is awaited. */
export async function assertLinearAsync<T>(
  what: string,
  size: number,
  make: (size: number) => T,
  work: (input: T) => Promise<unknown>,
): Promise<void> {
  const took = async (input: T) => {
    const before = process.cpuUsage();
    await work(input).catch(() => {});
    return process.cpuUsage(before).user / 1_000;
  };
  const small = make(size);
  const first = Math.max(FLOOR_MS, Math.min(await took(small), await took(small)));
  const large = make(size * 16);
  const most = first * 16 * GENEROUS;
  let last = await took(large);
  if (last > most && last < 10 * most) last = Math.min(last, await took(large));
  assert.ok(
    last <= most,
    `${what}: ${Math.round(first)} ms for a size of ${size}, ${Math.round(last)} ms for 16 times as much`,
  );
}

/** Texts that are one token over and over, behind a beginning that leads the parser to it. */
export const repeated =
  (token: string, before = "", after = "") =>
  (size: number): string =>
    before + token.repeat(Math.ceil(size / token.length)) + after;
