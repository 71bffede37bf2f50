/**
 * The last lines of the log, kept as bytes. As strings they would outlive two collections of the young generation, and
 * the old one would fill with a line for every request.
 */
const PAGE_BYTES = 512 * 1024;

const pageOf = (size: number) => ({ bytes: Buffer.allocUnsafeSlow(size), used: 0 });

/** Keeps `most` lines at most: between one and two pages. Memory that no line has reached yet takes no room. */
export function createRecentLines(most: number, pageBytes = PAGE_BYTES) {
  let [before, now] = [pageOf(pageBytes), pageOf(pageBytes)];
  return {
    /** A line ends with its line break. */
    add(line: string): void {
      const room = line.length * 3; // of a UTF-16 unit in UTF-8
      if (now.used + room > now.bytes.length) {
        const next = room > before.bytes.length ? pageOf(Math.max(room, pageBytes)) : before;
        next.used = 0;
        [before, now] = [now, next];
      }
      now.used += now.bytes.write(line, now.used);
    },
    /** Oldest first, without the line breaks. */
    last: (): string[] =>
      [before, now]
        .flatMap(({ bytes, used }) => bytes.toString("utf8", 0, used).split("\n").slice(0, -1))
        .slice(-most),
  };
}
