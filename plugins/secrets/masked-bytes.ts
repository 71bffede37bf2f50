/** Hides secrets in bytes of any kind, however they are cut: as many stars stand in their place, so that no length changes. */
import type { SecretAutomaton } from "./secret-automaton.ts";
import type { SecretMask } from "./secret-mask.ts";

const STAR = 42;

export class MaskedBytes {
  readonly #automaton: SecretAutomaton;
  #state = 0;
  /** The end of what came, which may be the beginning of a secret. */
  #held = Buffer.alloc(0);

  constructor(mask: SecretMask) {
    this.#automaton = mask.automaton;
  }

  push(given: Buffer): Buffer {
    const { depth, complete } = this.#automaton;
    const before = this.#held.length;
    let bytes = before === 0 ? given : Buffer.concat([this.#held, given]);
    let own = before > 0;
    let state = this.#state;
    for (let i = before; i < bytes.length; i++) {
      if (state === 0) i = this.#automaton.skip(bytes, i);
      if (i === bytes.length) break;
      const next = this.#automaton.step(state, bytes[i]!);
      if (complete[next] === 1) {
        if (!own) bytes = Buffer.from(bytes);
        own = true;
        bytes.fill(STAR, i + 1 - depth[next]!, i + 1);
        state = 0;
      } else state = next;
    }
    this.#state = state;
    const end = bytes.length - depth[state]!;
    this.#held = Buffer.from(bytes.subarray(end));
    return end === bytes.length ? bytes : bytes.subarray(0, end);
  }

  end(): Buffer | undefined {
    return this.#held.length === 0 ? undefined : this.#held;
  }
}
