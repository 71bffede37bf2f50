/** Masks secrets in one text that arrives in parts. */
import { MASK } from "portico";
import { LEAD, type SecretAutomaton } from "./secret-automaton.ts";

export class HeldText {
  /** The characters that may belong to a secret and are not sent yet: never more than the longest secret has. */
  pending = "";
  readonly #automaton: SecretAutomaton;
  #state = 0;

  constructor(automaton: SecretAutomaton) {
    this.#automaton = automaton;
  }

  /** The number of characters at the end of the text that are the beginning of a secret. */
  get depth(): number {
    return this.#automaton.depth[this.#state]!;
  }

  /** Adds the next part, and returns the text that may be sent now. */
  push(text: string): string {
    if (this.pending === "" && this.#passes(text)) return text;
    let out = "";
    for (let i = 0; i < text.length; i++) {
      this.#state = this.#automaton.step(this.#state, text.charCodeAt(i));
      if (this.#automaton.complete[this.#state] === 1) {
        out += MASK;
        this.pending = "";
        this.#state = 0;
        continue;
      }
      this.pending += text[i];
      // The first `LEAD` characters of a possible secret are sent at once, so fewer are pending than have matched.
      const free = Math.max(0, this.pending.length - Math.max(0, this.depth - LEAD));
      out += this.pending.slice(0, free);
      this.pending = this.pending.slice(free);
    }
    return out;
  }

  /** Returns the pending characters, which may be sent after all. Pass true for `isOver` if the text ends here. */
  release(isOver: boolean): string {
    const { pending } = this;
    this.pending = "";
    if (isOver) this.#state = 0;
    return pending;
  }

  /** Returns true, and advances the state, if all of the text may be sent at once; otherwise it changes nothing. */
  #passes(text: string): boolean {
    const automaton = this.#automaton;
    let state = this.#state;
    for (let at = 0; at < text.length; at++) {
      if (state === 0) at = automaton.skipInText(text, at);
      if (at === text.length) break;
      state = automaton.step(state, text.charCodeAt(at));
      if (automaton.complete[state] === 1) return false;
    }
    if (automaton.depth[state]! > LEAD) return false;
    this.#state = state;
    return true;
  }
}
