/** Work on state that several requests share, one request after the other: none of them checks what another one is changing. */

export class Turns {
  readonly #last = new Map<string, Promise<unknown>>();

  /** Runs the work once all earlier work of that name has ended, whatever became of it. */
  async take<T>(name: string, work: () => Promise<T>): Promise<T> {
    const turn = (this.#last.get(name) ?? Promise.resolve()).then(work);
    const end = turn.catch(() => {});
    this.#last.set(name, end);
    try {
      return await turn;
    } finally {
      if (this.#last.get(name) === end) this.#last.delete(name);
    }
  }
}
