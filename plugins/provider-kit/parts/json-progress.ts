/** Tells whether the object or list in a JSON text that arrives in fragments is complete. Reads each character once. */
export class JsonProgress {
  #unread: string[] = [];
  #depth = 0;
  #isInString = false;
  #isEscaped = false;
  #hasClosed = false;

  add(text: string): void {
    this.#unread.push(text);
  }

  /** True once the outermost object or list is closed. A value of another kind is never complete. */
  isComplete(): boolean {
    if (this.#unread.length > 0) {
      for (const character of this.#unread.join("")) this.#read(character);
      this.#unread = [];
    }
    return this.#hasClosed && this.#depth === 0;
  }

  #read(character: string): void {
    if (this.#isInString) this.#readInString(character);
    else if (character === '"') this.#isInString = true;
    else if (character === "{" || character === "[") this.#depth++;
    else if (character === "}" || character === "]") {
      this.#depth--;
      this.#hasClosed = true;
    }
  }

  #readInString(character: string): void {
    if (this.#isEscaped) this.#isEscaped = false;
    else if (character === "\\") this.#isEscaped = true;
    else if (character === '"') this.#isInString = false;
  }
}
