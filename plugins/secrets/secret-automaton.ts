/**
 * Finds texts in a stream of characters with one step per character (Aho and Corasick 1975), however the stream is split.
 * Each state has a linked list of its child states, mostly of one: a table over all characters would take a hundred times
 * the memory, and tokens have thousands of states.
 */

/** The characters of a secret that may be sent: a beginning this short cannot be distinguished from other text. */
export const LEAD = 3;

export class SecretAutomaton {
  /** State → the number of characters of a text that have matched. */
  readonly depth: Uint32Array;
  /** State → 1 if a text is complete there. */
  readonly complete: Uint8Array;
  /** Code of a character → the child of the start state. */
  readonly #roots = new Uint32Array(256);
  /** State → the code of the character that leads to it. */
  readonly #code: Uint8Array;
  /** State → its first child; 0 if there is none. */
  readonly #child: Uint32Array;
  /** State → the next child of the same parent; 0 if there is none. */
  readonly #sibling: Uint32Array;
  /** State → the state of the longest suffix that is also the beginning of a text. */
  readonly #fallback: Uint32Array;

  constructor(texts: readonly string[]) {
    const ascii = texts.filter((text) => /^[\x20-\x7e]+$/.test(text));
    const maxStates = 1 + ascii.reduce((sum, text) => sum + text.length, 0);
    this.depth = new Uint32Array(maxStates);
    this.complete = new Uint8Array(maxStates);
    this.#code = new Uint8Array(maxStates);
    this.#child = new Uint32Array(maxStates);
    this.#sibling = new Uint32Array(maxStates);
    this.#fallback = new Uint32Array(maxStates);
    this.#addTexts(ascii);
    this.#linkFallbacks();
  }

  /** Returns the state that follows a state on a character; 0 is the start state. */
  step(state: number, code: number): number {
    if (code > 127) return 0;
    for (let from = state; from !== 0; from = this.#fallback[from]!) {
      const to = this.#childOn(from, code);
      if (to !== 0) return to;
    }
    return this.#roots[code]!;
  }

  /** Returns the first index from `from` on at which a text may begin. This costs a tenth of the steps. */
  skip(bytes: Uint8Array, from: number): number {
    let at = from;
    while (at < bytes.length && this.#roots[bytes[at]!] === 0) at++;
    return at;
  }

  /** Does the same as `skip`, in a text. */
  skipInText(text: string, from: number): number {
    let at = from;
    while (at < text.length && !this.#mayBegin(text.charCodeAt(at))) at++;
    return at;
  }

  #mayBegin(code: number): boolean {
    return code < 128 && this.#roots[code] !== 0;
  }

  /** Returns the child of a state on a character; 0 if there is none. */
  #childOn(state: number, code: number): number {
    if (state === 0) return this.#roots[code]!;
    let to = this.#child[state]!;
    while (to !== 0 && this.#code[to] !== code) to = this.#sibling[to]!;
    return to;
  }

  #addTexts(texts: readonly string[]): void {
    let states = 1;
    for (const text of texts) {
      let state = 0;
      for (let i = 0; i < text.length; i++) {
        const code = text.charCodeAt(i);
        let to = this.#childOn(state, code);
        if (to === 0) {
          to = states++;
          this.depth[to] = i + 1;
          this.#code[to] = code;
          this.#sibling[to] = this.#child[state]!;
          this.#child[state] = to;
          if (state === 0) this.#roots[code] = to;
        }
        state = to;
      }
      this.complete[state] = 1;
    }
  }

  /** Goes breadth-first, so that the state that another one falls back to is linked before it. */
  #linkFallbacks(): void {
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
