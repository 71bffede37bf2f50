/** One text that arrives in parts, and of which no secret may be sent. */
import { MASK } from "portico";
import { LEAD, type SecretAutomaton } from "./secret-automaton.ts";

export class HeldText {
  /** What cannot go out before it is known not to be a secret: never more than the longest secret. */
  held = "";
  readonly #automaton: SecretAutomaton;
  #state = 0;

  constructor(automaton: SecretAutomaton) {
    this.#automaton = automaton;
  }

  /** So many characters of a secret have come. */
  get depth(): number {
    return this.#automaton.depth[this.#state]!;
  }

  /** What may go out now that some more has come. */
  push(text: string): string {
    if (this.held === "" && this.#passes(text)) return text;
    let out = "";
    for (let i = 0; i < text.length; i++) {
      this.#state = this.#automaton.step(this.#state, text.charCodeAt(i));
      if (this.#automaton.complete[this.#state] === 1) {
        out += MASK;
        this.held = "";
        this.#state = 0;
        continue;
      }
      this.held += text[i];
      // Fewer bytes are held than a secret may have, because its beginning was already sent.
      const free = Math.max(0, this.held.length - Math.max(0, this.depth - LEAD));
      out += this.held.slice(0, free);
      this.held = this.held.slice(free);
    }
    return out;
  }

  /** What was held back: it goes out, and so it is no secret. `over`: the text ends here. */
  release(over: boolean): string {
    const { held } = this;
    this.held = "";
    if (over) this.#state = 0;
    return held;
  }

  /** Whether all of a text may go out at once; if not, nothing has happened. */
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
