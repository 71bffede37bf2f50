/** Growth with the size of the input: what is quadratic takes 256 times as long for 16 times as much. */
import * as assert from "uvu/assert";

const ROUNDS = 3;
/** Below this a measurement says nothing. */
const FLOOR_MS = 1;

/** Fails where 16 times the input takes far more than 16 times as long; the middle size tells where it began. */
export async function growsLinearly<T>(make: (size: number) => T, run: (input: T) => unknown): Promise<void> {
  const times: number[] = [];
  for (const size of [1, 4, 16]) times.push(await shortest(make(size), run));
  const [small = 0, middle = 0, large = 0] = times;
  const allowed = 80 * Math.max(FLOOR_MS, small);
  const shown = times.map((ms) => ms.toFixed(1)).join(", ");
  assert.ok(large <= allowed, `1×, 4× and 16× took ${shown} ms (4×: ${(middle / small).toFixed(1)} times)`);
}

async function shortest<T>(input: T, run: (input: T) => unknown): Promise<number> {
  let best = Number.POSITIVE_INFINITY;
  for (let round = 0; round < ROUNDS; round++) {
    const start = performance.now();
    await run(input);
    best = Math.min(best, performance.now() - start);
  }
  return best;
}
