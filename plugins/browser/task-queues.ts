/** Runs work on shared state one request at a time, so that no request checks state that another one is changing. */

export class TaskQueues {
  readonly #last = new Map<string, Promise<unknown>>();

  /** Runs the work after all earlier work of that name has ended, successfully or not. */
  async run<T>(name: string, work: () => Promise<T>): Promise<T> {
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
