/**
 * Keeps the last lines of the log as bytes. As strings they would survive two collections of the young generation, and
 * fill the old one with a line for every request.
 */
const PAGE_BYTES = 512 * 1024;

const createPage = (size: number) => ({ bytes: Buffer.allocUnsafeSlow(size), used: 0 });

/** Keeps at most `max` lines in one to two pages. Pages that no line has reached yet take no physical memory. */
export function createRecentLines(max: number, pageBytes = PAGE_BYTES) {
  let [previousPage, currentPage] = [createPage(pageBytes), createPage(pageBytes)];
  return {
    /** Adds a line, which ends with a line break. */
    add(line: string): void {
      const room = line.length * 3; // a UTF-16 unit takes up to 3 bytes in UTF-8
      if (currentPage.used + room > currentPage.bytes.length) {
        const next =
          room > previousPage.bytes.length ? createPage(Math.max(room, pageBytes)) : previousPage;
        next.used = 0;
        [previousPage, currentPage] = [currentPage, next];
      }
      currentPage.used += currentPage.bytes.write(line, currentPage.used);
    },
    /** Returns the lines, oldest first, without line breaks. */
    last: (): string[] =>
      [previousPage, currentPage]
        .flatMap(({ bytes, used }) => bytes.toString("utf8", 0, used).split("\n").slice(0, -1))
        .slice(-max),
  };
}
