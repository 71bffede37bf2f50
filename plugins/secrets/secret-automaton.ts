/**
 * Finds texts in a stream of characters, a step a character (Aho and Corasick 1975), however the stream is cut. A state has
 * a list of the states behind it, mostly of one: a table of all characters would take a hundred times the memory, and
 * tokens have thousands of them.
 */

/** So many characters of a secret may go out: a beginning this short cannot be distinguished from other text. */
export const LEAD = 3;

export class SecretAutomaton {
  /** State → how many characters of a text have come. */
  readonly depth: Uint32Array;
  /** State → a text is complete. */
  readonly complete: Uint8Array;
  /** Code of a character → the state behind it at the beginning. */
  readonly #first = new Uint32Array(256);
  /** State → the code that leads to it. */
  readonly #code: Uint8Array;
  /** State → the first of the states behind it; 0: there is none. */
  readonly #child: Uint32Array;
  /** State → the next one behind the same state; 0: there is none. */
  readonly #sibling: Uint32Array;
  /** State → that of the longest beginning of a text that the end of this one is. */
  readonly #fallback: Uint32Array;

  constructor(texts: readonly string[]) {
    const ascii = texts.filter((text) => /^[\x20-\x7e]+$/.test(text));
    const most = 1 + ascii.reduce((sum, text) => sum + text.length, 0);
    this.depth = new Uint32Array(most);
    this.complete = new Uint8Array(most);
    this.#code = new Uint8Array(most);
    this.#child = new Uint32Array(most);
    this.#sibling = new Uint32Array(most);
    this.#fallback = new Uint32Array(most);
    this.#grow(ascii);
    this.#link();
  }

  /** From one state to the next; 0 is the first. */
  step(state: number, code: number): number {
    if (code > 127) return 0;
    for (let from = state; from !== 0; from = this.#fallback[from]!) {
      const to = this.#behind(from, code);
      if (to !== 0) return to;
    }
    return this.#first[code]!;
  }

  /** The first place from `from` on where a text may begin: what lies before costs a tenth of a step. */
  skip(bytes: Uint8Array, from: number): number {
    let at = from;
    while (at < bytes.length && this.#first[bytes[at]!] === 0) at++;
    return at;
  }

  /** The same in a text. */
  skipInText(text: string, from: number): number {
    let at = from;
    while (at < text.length && !this.#mayBegin(text.charCodeAt(at))) at++;
    return at;
  }

  #mayBegin(code: number): boolean {
    return code < 128 && this.#first[code] !== 0;
  }

  #behind(state: number, code: number): number {
    if (state === 0) return this.#first[code]!;
    let to = this.#child[state]!;
    while (to !== 0 && this.#code[to] !== code) to = this.#sibling[to]!;
    return to;
  }

  #grow(texts: readonly string[]): void {
    let states = 1;
    for (const text of texts) {
      let state = 0;
      for (let i = 0; i < text.length; i++) {
        const code = text.charCodeAt(i);
        let to = this.#behind(state, code);
        if (to === 0) {
          to = states++;
          this.depth[to] = i + 1;
          this.#code[to] = code;
          this.#sibling[to] = this.#child[state]!;
          this.#child[state] = to;
          if (state === 0) this.#first[code] = to;
        }
        state = to;
      }
      this.complete[state] = 1;
    }
  }

  /** Shorter texts first: what a state falls back to is linked before it. */
  #link(): void {
    const queue = [0];
    for (const state of queue) {
      if (this.complete[this.#fallback[state]!] === 1) this.complete[state] = 1;
      for (let to = this.#child[state]!; to !== 0; to = this.#sibling[to]!) {
        if (state !== 0) this.#fallback[to] = this.step(this.#fallback[state]!, this.#code[to]!);
        queue.push(to);
      }
    }
  }
}
