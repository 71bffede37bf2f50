/** Which lines of a text went, and which came. */

/** Above this many lines that differ, their order is not looked at: the time grows with the square of them. */
const MOST_EDITS = 2_000;
const MAX_CHARS = 8_000;

/** Lines that went (`- `) and came (`+ `), in order; clipped to 8,000 characters. */
export function lineDiff(before: string, after: string): string {
  const [was, is] = [before.split("\n"), after.split("\n")];
  const text = (ordered(was, is) ?? unordered(was, is)).join("\n");
  return text.length > MAX_CHARS ? `${text.slice(0, MAX_CHARS)}\n… (${text.length - MAX_CHARS} more characters)` : text;
}

/**
 * The fewest edits, by Myers' algorithm; nothing where there are too many. A diagonal is how many more old lines than new
 * ones lie behind a place. What is kept are arrays of integers, one for each number of edits: to collect objects, one
 * for each place that is reached, takes a second of a core.
 */
function ordered(was: readonly string[], is: readonly string[]): string[] | undefined {
  const [old, now] = numbered(was, is);
  /** By edits and diagonal, the lowest first: how many old lines lie behind the furthest place, -1 where there is none. */
  const reached: Int32Array[] = [];
  // Beyond a diagonal that has come to the end of one side, all ways are longer.
  let [lowest, highest] = [-now.length, old.length];
  for (let edits = 0; edits <= MOST_EDITS; edits++) {
    const before = reached.at(-1) ?? Int32Array.of(0);
    const places = new Int32Array(edits + 1).fill(-1);
    reached.push(places);
    const last = Math.min(edits, (highest + edits) >> 1);
    for (let i = Math.max(0, (lowest + edits + 1) >> 1); i <= last; i++) {
      const diagonal = 2 * i - edits;
      const removed = Number(isRemoval(before, i));
      const from = before[i - removed]!;
      if (from < 0) continue;
      let place = from + removed;
      while (place < old.length && place - diagonal < now.length && old[place] === now[place - diagonal]) place++;
      places[i] = place;
      const isOldBehind = place === old.length;
      const isNowBehind = place - diagonal === now.length;
      if (isOldBehind && isNowBehind) return linesOf(reached, i, was, is);
      if (isOldBehind) highest = Math.min(highest, diagonal - 1);
      if (isNowBehind) lowest = Math.max(lowest, diagonal + 1);
    }
  }
  return undefined;
}

/** Whether the further way to a diagonal is the one from the diagonal below it. */
function isRemoval(before: Int32Array, i: number): boolean {
  return i > 0 && (i === before.length || before[i - 1]! >= before[i]!);
}

/** Lines as numbers, which are faster to compare: equal where the lines are. */
function numbered(...sides: readonly (readonly string[])[]): [Int32Array, Int32Array] {
  const numbers = new Map<string, number>();
  const numberOf = (line: string): number => {
    const number = numbers.get(line) ?? numbers.size;
    numbers.set(line, number);
    return number;
  };
  return sides.map((lines) => Int32Array.from(lines, numberOf)) as [Int32Array, Int32Array];
}

/** The way to the end, whose diagonal is the `at`th after all edits, backwards. */
function linesOf(reached: readonly Int32Array[], at: number, was: readonly string[], is: readonly string[]): string[] {
  const lines: string[] = [];
  let i = at;
  for (let edits = reached.length - 1; edits > 0; edits--) {
    const before = reached[edits - 1]!;
    const diagonal = 2 * i - edits;
    const removed = isRemoval(before, i);
    if (removed) i--;
    const place = before[i]!;
    lines.push(removed ? `- ${was[place]}` : `+ ${is[place - diagonal - 1]}`);
  }
  return lines.reverse();
}

/** Lines that only one side has. */
function unordered(was: readonly string[], is: readonly string[]): string[] {
  const [had, has] = [new Set(was), new Set(is)];
  return [
    ...was.filter((line) => !has.has(line)).map((line) => `- ${line}`),
    ...is.filter((line) => !had.has(line)).map((line) => `+ ${line}`),
  ];
}
