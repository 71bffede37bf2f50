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

/** What the larger size took decides alone where it is right for any smaller one. */
const isLittle = (took: number) => took <= FLOOR_MS * MOST;

const mostFor = (first: number, second: number) => Math.max(FLOOR_MS, Math.min(first, second)) * MOST;

/** Once more then: the first may have met the compiler or a collection. */
const isUnlucky = (took: number, most: number) => took > most && took < 10 * most;

function assertAtMost(what: string, size: number, took: number, most: number): void {
  const first = Math.round(most / MOST);
  assert.ok(
    took <= most,
    `${what}: ${first} ms for a size of ${size}, ${Math.round(took)} ms for ${TIMES} times as much`,
  );
}

/** `make` gives an input of a size; the larger is 16 times `size`. */
export function assertLinear<T>(
  what: string,
  size: number,
  make: (size: number) => T,
  work: (input: T) => unknown,
): void {
  const large = make(size * TIMES);
  const took = cpuMs(large, work);
  if (isLittle(took)) return;
  const small = make(size);
  const most = mostFor(cpuMs(small, work), cpuMs(small, work));
  assertAtMost(what, size, isUnlucky(took, most) ? Math.min(took, cpuMs(large, work)) : took, most);
}

/** The same for work that is awaited. */
export async function assertLinearAsync<T>(
  what: string,
  size: number,
  make: (size: number) => T,
  work: (input: T) => Promise<unknown>,
): Promise<void> {
  const large = make(size * TIMES);
  const took = await cpuMsAwaited(large, work);
  if (isLittle(took)) return;
  const small = make(size);
  const most = mostFor(await cpuMsAwaited(small, work), await cpuMsAwaited(small, work));
  assertAtMost(what, size, isUnlucky(took, most) ? Math.min(took, await cpuMsAwaited(large, work)) : took, most);
}

/** Texts that are one token over and over, behind a beginning that leads the parser to it. */
export const repeated =
  (token: string, before = "", after = "") =>
  (size: number): string =>
    before + token.repeat(Math.ceil(size / token.length)) + after;
