/**
 * Keeps the last lines of the log as bytes. As strings they would survive two collections of the young generation, and
 * fill the old one with a line for every request.
 */
const PAGE_BYTES = 512 * 1024;

const pageOf = (size: number) => ({ bytes: Buffer.allocUnsafeSlow(size), used: 0 });

/** Keeps at most `max` lines in one to two pages. Pages that no line has reached yet take no physical memory. */
export function createRecentLines(max: number, pageBytes = PAGE_BYTES) {
  let [before, now] = [pageOf(pageBytes), pageOf(pageBytes)];
  return {
    /** Adds a line, which ends with a line break. */
    add(line: string): void {
      const room = line.length * 3; // a UTF-16 unit takes up to 3 bytes in UTF-8
      if (now.used + room > now.bytes.length) {
        const next = room > before.bytes.length ? pageOf(Math.max(room, pageBytes)) : before;
        next.used = 0;
        [before, now] = [now, next];
      }
      now.used += now.bytes.write(line, now.used);
    },
    /** Returns the lines, oldest first, without line breaks. */
    last: (): string[] =>
      [before, now]
        .flatMap(({ bytes, used }) => bytes.toString("utf8", 0, used).split("\n").slice(0, -1))
        .slice(-max),
  };
}
