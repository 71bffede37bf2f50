/** The resources of connected servers whose changes one client follows. */
import type { Remote } from "./remote.ts";

/** A client that follows more than this has lost count. */
const MOST_SUBSCRIPTIONS = 1000;

export class Subscriptions {
  readonly #undo = new Map<string, () => Promise<void>>();

  /** `uri` is the client's name of the resource, `name` the server's. False where the client follows too many. */
  async add(uri: string, remote: Remote, name: string, notify: () => void): Promise<boolean> {
    if (this.#undo.has(uri)) return true;
    if (this.#undo.size >= MOST_SUBSCRIPTIONS) return false;
    this.#undo.set(uri, await remote.subscribe(name, notify));
    return true;
  }

  async remove(uri: string): Promise<void> {
    const undo = this.#undo.get(uri);
    this.#undo.delete(uri);
    await undo?.();
  }

  end(): void {
    for (const uri of [...this.#undo.keys()]) this.remove(uri).catch(() => {});
  }
}
