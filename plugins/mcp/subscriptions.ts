/** The subscriptions of one client to resources of connected servers. They outlive the connections to the servers. */
import type { Logger } from "portico";
import type { Remote } from "./remote.ts";

/** The limit of subscriptions per client, because a faulty client may never remove any. */
const MAX_SUBSCRIPTIONS = 1000;

interface Subscription {
  /** The name of the server. */
  server: string;
  /** The server's URI of the resource. */
  name: string;
  notify: () => void;
  /** The connection that has the subscription; undefined if it could not be renewed. */
  remote: Remote | undefined;
  /** Resolves with the function that ends the subscription on the server. Rejects if the server refuses it. */
  unsubscribe: Promise<() => Promise<void>>;
}

export class Subscriptions {
  readonly #log: Logger;
  /** By the client's URI. A subscription is here from the request on, so that concurrent requests share it. */
  readonly #subscriptions = new Map<string, Subscription>();

  constructor(log: Logger) {
    this.#log = log;
  }

  /**
   * `uri` is the client's URI of the resource, `name` the server's. Returns false if the client has too many
   * subscriptions.
   */
  async add(uri: string, remote: Remote, name: string, notify: () => void): Promise<boolean> {
    const current = this.#subscriptions.get(uri);
    if (current === undefined && this.#subscriptions.size >= MAX_SUBSCRIPTIONS) return false;
    const isSame = current?.remote === remote && current.name === name;
    const subscription = isSame ? current : this.#subscribe(uri, remote, name, notify);
    try {
      await subscription.unsubscribe;
      return true;
    } catch (error) {
      if (this.#subscriptions.get(uri) === subscription) this.#subscriptions.delete(uri);
      throw error;
    }
  }

  /** Renews the subscriptions to a server's resources on a new connection, because a server forgets them with the old one. */
  renew(remote: Remote): void {
    for (const [uri, subscription] of this.#subscriptions) {
      const { server, name, notify } = subscription;
      if (server !== remote.name || subscription.remote === remote) continue;
      const renewed = this.#subscribe(uri, remote, name, notify);
      // The resource may have changed while there was no connection.
      renewed.unsubscribe.then(notify, (error: unknown) => {
        renewed.remote = undefined;
        this.#log.warn({ err: error, server, uri: name }, "an MCP subscription was not renewed");
      });
    }
  }

  async remove(uri: string): Promise<void> {
    const subscription = this.#subscriptions.get(uri);
    this.#subscriptions.delete(uri);
    if (subscription !== undefined) await unsubscribe(subscription);
  }

  end(): void {
    for (const uri of [...this.#subscriptions.keys()]) this.remove(uri).catch(() => {});
  }

  /** Replaces the subscription to a URI, which may belong to a previous connection or to another server. */
  #subscribe(uri: string, remote: Remote, name: string, notify: () => void): Subscription {
    const previous = this.#subscriptions.get(uri);
    const subscription: Subscription = {
      ...{ server: remote.name, name, notify, remote },
      unsubscribe: remote.subscribe(name, notify),
    };
    this.#subscriptions.set(uri, subscription);
    if (previous !== undefined) unsubscribe(previous).catch(() => {});
    return subscription;
  }
}

/** Ends a subscription on its server, after the request that begins it. There is nothing to end if that one failed. */
async function unsubscribe(subscription: Subscription): Promise<void> {
  const end = await subscription.unsubscribe.catch(() => undefined);
  await end?.();
}
