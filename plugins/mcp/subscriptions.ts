/** The subscriptions of one client to resources of connected servers. */
import type { Remote } from "./remote.ts";

/** The limit of subscriptions per client, because a faulty client may never remove any. */
const MAX_SUBSCRIPTIONS = 1000;

export class Subscriptions {
  readonly #subscriptions = new Map<string, () => Promise<void>>();

  /**
   * `uri` is the client's URI of the resource, `name` the server's. Returns false if the client has too many
   * subscriptions.
   */
  async add(uri: string, remote: Remote, name: string, notify: () => void): Promise<boolean> {
    if (this.#subscriptions.has(uri)) return true;
    if (this.#subscriptions.size >= MAX_SUBSCRIPTIONS) return false;
    this.#subscriptions.set(uri, await remote.subscribe(name, notify));
    return true;
  }

  async remove(uri: string): Promise<void> {
    const unsubscribe = this.#subscriptions.get(uri);
    this.#subscriptions.delete(uri);
    await unsubscribe?.();
  }

  end(): void {
    for (const uri of [...this.#subscriptions.keys()]) this.remove(uri).catch(() => {});
  }
}
