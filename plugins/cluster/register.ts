/**
 * The list of the gateways that share a store. Each keeps an entry in the store and renews it; other entries expire. So
 * a gateway that was killed leaves the list by itself, and one that stops cleanly removes its entry.
 */
import { hostname } from "node:os";
import type { Workers } from "portico";
import type { Store } from "portico/store";
import type { GatewayEntry } from "./index.ts";

const NAMESPACE = "gateways";
const RENEW_MS = 5_000;
/** Two renewals may fail or come late before the entry expires. */
const EXPIRE_MS = 15_000;

/** An entry as the store holds it. Times are milliseconds since 1970, `seenAt` by the store's clock. */
interface StoredEntry
  extends Pick<GatewayEntry, "name" | "host" | "url" | "version" | "pid" | "workers"> {
  startedAt: number;
  seenAt: number;
}

interface RegisterOptions {
  store: () => Store;
  workers: Workers | undefined;
  /** The id of this gateway, the same in all of its workers. */
  gateway: string;
  /** `gateway.name` of the configuration. */
  name: () => string | undefined;
  version: string;
  url: () => string;
  /** The start of this process, in milliseconds since 1970. */
  startedAt: number;
}

export class Register {
  static readonly renewMs = RENEW_MS;

  readonly #options: RegisterOptions;
  readonly #startedAt: number;

  constructor(options: RegisterOptions) {
    this.#options = options;
    this.#startedAt = options.workers?.startedAt ?? options.startedAt;
  }

  /** Whether this process writes the gateway's entry. Only the first of its workers does. */
  get isWriter(): boolean {
    const { store, workers } = this.#options;
    return store().sharedBy === "gateways" && (workers === undefined || workers.index === 0);
  }

  async renew(): Promise<void> {
    const { store, gateway } = this.#options;
    await store().kv.set(NAMESPACE, gateway, this.#own(), { ttlMs: EXPIRE_MS });
  }

  async remove(): Promise<void> {
    const { store, gateway } = this.#options;
    await store().kv.delete(NAMESPACE, gateway);
  }

  /** Lists this gateway first, then the others by name and address. */
  async list(): Promise<GatewayEntry[]> {
    const { store, gateway } = this.#options;
    const isShared = store().sharedBy === "gateways";
    const otherEntries = isShared ? await this.#listOthers() : [];
    // The entry of this gateway is built now, so it is never stale.
    return [this.#describe(gateway, this.#own()), ...otherEntries.sort(byNameAndUrl)];
  }

  async #listOthers(): Promise<GatewayEntry[]> {
    const { store, gateway } = this.#options;
    const ids = (await store().kv.list(NAMESPACE)).filter((id) => id !== gateway);
    const entries = await Promise.all(
      ids.map(async (id) => {
        const entry = await store().kv.get<StoredEntry>(NAMESPACE, id);
        return entry === undefined ? [] : [this.#describe(id, entry)];
      }),
    );
    return entries.flat();
  }

  #own(): StoredEntry {
    const { store, workers, name, version, url } = this.#options;
    return {
      name: name() ?? hostname(),
      host: hostname(),
      url: url(),
      version,
      // The process that runs the workers is the one to send signals to.
      pid: workers === undefined ? process.pid : process.ppid,
      workers: workers?.count ?? 1,
      startedAt: this.#startedAt,
      seenAt: store().now(),
    };
  }

  #describe(id: string, { startedAt, seenAt, ...entry }: StoredEntry): GatewayEntry {
    return {
      id,
      ...entry,
      startedAt: new Date(startedAt).toISOString(),
      seenAt: new Date(seenAt).toISOString(),
      ageMs: Math.max(0, this.#options.store().now() - seenAt),
      isThis: id === this.#options.gateway,
    };
  }
}

function byNameAndUrl(a: GatewayEntry, b: GatewayEntry): number {
  return a.name.localeCompare(b.name) || a.url.localeCompare(b.url);
}
