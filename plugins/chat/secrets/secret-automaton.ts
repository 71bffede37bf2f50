/** Finds texts in a stream of characters, one step a character (Aho and Corasick 1975), however the stream is cut. */

/** So much of a secret may go out before it is told from other text: it is no secret yet. */
export const LEAD = 3;

export class SecretAutomaton {
  /** State → how many characters of a text have come. */
  readonly depth: Uint16Array;
  /** State → a text is complete. */
  readonly complete: Uint8Array;
  /** Code of a character → its column; 0 for all that stand in no text. */
  readonly #columns = new Uint8Array(128);
  readonly #width: number;
  readonly #next: Uint16Array;

  constructor(texts: readonly string[]) {
    const ascii = texts.filter((text) => /^[\x20-\x7e]+$/.test(text));
    let width = 1;
    for (const text of ascii) {
      for (let i = 0; i < text.length; i++) {
        const code = text.charCodeAt(i);
        if (this.#columns[code] === 0) this.#columns[code] = width++;
      }
    }
    this.#width = width;
    const most = 1 + ascii.reduce((sum, text) => sum + text.length, 0);
    this.#next = new Uint16Array(most * width);
    this.depth = new Uint16Array(most);
    this.complete = new Uint8Array(most);
    this.#grow(ascii);
  }

  /** From one state to the next; 0 is the first. */
  step(state: number, code: number): number {
    return code > 127 ? 0 : this.#next[state * this.#width + this.#columns[code]!]!;
  }

  #grow(texts: readonly string[]): void {
    const width = this.#width;
    const next = this.#next;
    let states = 1;
    for (const text of texts) {
      let state = 0;
      for (let i = 0; i < text.length; i++) {
        const at = state * width + this.#columns[text.charCodeAt(i)]!;
        if (next[at] === 0) {
          this.depth[states] = i + 1;
          next[at] = states++;
        }
        state = next[at]!;
      }
      this.complete[state] = 1;
    }
    // Where no text goes on, the longest beginning of another that the end of this one is goes on instead.
    const fallback = new Uint16Array(states);
    const queue = [0];
    for (const state of queue) {
      const other = fallback[state]!;
      if (this.complete[other] === 1) this.complete[state] = 1;
      for (let column = 1; column < width; column++) {
        const to = next[state * width + column]!;
        const elsewhere = state === 0 ? 0 : next[other * width + column]!;
        if (to === 0) next[state * width + column] = elsewhere;
        else {
          fallback[to] = elsewhere;
          queue.push(to);
        }
      }
    }
  }
}
