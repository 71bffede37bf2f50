/** Whether work grows in line with its input: a text of 16 times the size may not take 256 times as long. */
import * as assert from "uvu/assert";

/** `make` gives an input of a size; the largest is 16 times `size`. What `work` throws counts as done. */
export function assertLinear<T>(
  what: string,
  size: number,
  make: (size: number) => T,
  work: (input: T) => unknown,
): void {
  const [one, four, sixteen] = [1, 4, 16].map((factor) => fastest(make(size * factor), work)) as [
    number,
    number,
    number,
  ];
  const base = Math.max(one, four / 4, 1);
  assert.ok(sixteen < base * 16 * 5, `${what}: ${one.toFixed(1)}, ${four.toFixed(1)}, ${sixteen.toFixed(1)} ms`);
}

function fastest<T>(input: T, work: (input: T) => unknown): number {
  let best = Number.POSITIVE_INFINITY;
  for (let i = 0; i < 2; i++) {
    const began = performance.now();
    try {
      work(input);
    } catch {}
    best = Math.min(best, performance.now() - began);
  }
  return best;
}
