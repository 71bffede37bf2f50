/**
 * The last lines of the log, kept as bytes. As strings they would outlive two collections of the young generation, and
 * the old one would fill with a line for every request.
 */
const PAGE_BYTES = 512 * 1024;

interface Page {
  bytes: Buffer;
  used: number;
}

export class RecentLines {
  readonly #most: number;
  readonly #pageBytes: number;
  #now: Page;
  /** Is written anew when the other one is full: so between one and two pages are kept. */
  #before: Page;

  /** Keeps so many lines at most. Memory that no line has reached yet takes no room. */
  constructor(most: number, pageBytes = PAGE_BYTES) {
    this.#most = most;
    this.#pageBytes = pageBytes;
    this.#now = pageOf(pageBytes);
    this.#before = pageOf(pageBytes);
  }

  /** A line ends with its line break. */
  add(line: string): void {
    const most = line.length * 3; // of a UTF-16 unit in UTF-8
    if (this.#now.used + most > this.#now.bytes.length) this.#turn(most);
    const { bytes, used } = this.#now;
    this.#now.used += bytes.write(line, used);
  }

  #turn(most: number): void {
    const next = most > this.#before.bytes.length ? pageOf(Math.max(most, this.#pageBytes)) : this.#before;
    next.used = 0;
    this.#before = this.#now;
    this.#now = next;
  }

  /** Oldest first, without the line breaks. */
  last(): string[] {
    const lines = [this.#before, this.#now].flatMap(({ bytes, used }) =>
      bytes.toString("utf8", 0, used).split("\n").slice(0, -1),
    );
    return lines.slice(-this.#most);
  }
}

const pageOf = (size: number): Page => ({ bytes: Buffer.allocUnsafeSlow(size), used: 0 });
