/**
 * Masks secrets in bytes of any kind, however they are split into chunks. Each byte becomes a star, so that no length
 * changes.
 */
import type { SecretAutomaton } from "./secret-automaton.ts";
import type { SecretMask } from "./secret-mask.ts";

const STAR = 42;

export class MaskedBytes {
  readonly #automaton: SecretAutomaton;
  #state = 0;
  /** The last bytes so far, which may be the beginning of a secret. */
  #pending = Buffer.alloc(0);

  constructor(mask: SecretMask) {
    this.#automaton = mask.automaton;
  }

  push(chunk: Buffer): Buffer {
    const { depth, complete } = this.#automaton;
    const before = this.#pending.length;
    let bytes = before === 0 ? chunk : Buffer.concat([this.#pending, chunk]);
    let isCopy = before > 0;
    let state = this.#state;
    for (let i = before; i < bytes.length; i++) {
      if (state === 0) i = this.#automaton.skip(bytes, i);
      if (i === bytes.length) break;
      const next = this.#automaton.step(state, bytes[i]!);
      if (complete[next] === 1) {
        if (!isCopy) bytes = Buffer.from(bytes);
        isCopy = true;
        bytes.fill(STAR, i + 1 - depth[next]!, i + 1);
        state = 0;
      } else state = next;
    }
    this.#state = state;
    const end = bytes.length - depth[state]!;
    this.#pending = Buffer.from(bytes.subarray(end));
    return end === bytes.length ? bytes : bytes.subarray(0, end);
  }

  end(): Buffer | undefined {
    return this.#pending.length === 0 ? undefined : this.#pending;
  }
}
