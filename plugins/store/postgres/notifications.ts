/** Notifications of work that other gateways have added. In case some are lost, listeners also look for work regularly. */
import type { Logger } from "portico";
import { Listeners } from "../sql/listeners.ts";
import type { Client, Pool } from "./connection.ts";

const MIN_RECONNECT_MS = 250;
const MAX_RECONNECT_MS = 5000;
const POLL_MS = 15_000;

/** The channel of this schema. Its name has at most 63 bytes and is quoted, so other schema names are replaced by a hash. */
const CHANNEL = `'portico:' || CASE WHEN octet_length(current_schema()) > 55 OR strpos(current_schema(), '"') > 0
  THEN hashtextextended(current_schema(), 0)::text ELSE current_schema()::text END`;

/** The key of a shared lock that each listener holds as long as it listens. Every user of a database can see its locks. */
const PRESENCE = `hashtextextended('portico:gateway:' || current_schema(), 0)`;

/**
 * Counts the gateways that listen for work in this schema. Older gateways hold no lock; they are recognised by their last
 * statement, if the user may see it.
 */
export const LISTENING = `SELECT GREATEST(
  (SELECT COUNT(*) FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1 AND mode = 'ShareLock'
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND (classid::bigint << 32) | objid::bigint = ${PRESENCE}),
  (SELECT COUNT(*) FROM pg_stat_activity
    WHERE datname = current_database() AND query = 'LISTEN "' || ${CHANNEL} || '"')) AS n`;

function quoteLiteral(text: string): string {
  return `E'${text.replaceAll("\\", "\\\\").replaceAll("'", "''")}'`;
}

/** Parses leniently, because any user of the database may write anything to the channel. */
function parsePayload(payload = ""): { from?: unknown; kinds?: unknown } {
  try {
    return (JSON.parse(payload) as object | null) ?? {};
  } catch {
    return {};
  }
}

export class Notifications {
  readonly #listeners = new Listeners();
  readonly #log: Logger;
  readonly #origin = Math.random().toString(36).slice(2, 10);
  #pool: Pool | undefined;
  #client: Client | undefined;
  #channel: string | undefined;
  #reconnectTimer: NodeJS.Timeout | undefined;
  #pollTimer: NodeJS.Timeout | undefined;
  #reconnectMs = MIN_RECONNECT_MS;
  #isStopped = false;
  #wasLost = false;

  constructor(log: Logger) {
    this.#log = log;
  }

  onWork(kind: string, wake: () => void): () => void {
    return this.#listeners.add(kind, wake);
  }

  /** Wakes the listeners of this process. */
  wake(kinds: Iterable<string>): void {
    this.#listeners.wake(kinds);
  }

  /** Returns the statement that commits a transaction and then notifies other gateways of its kinds of work. */
  commitAndNotify(kinds: ReadonlySet<string>): string {
    if (kinds.size === 0 || this.#channel === undefined) return "COMMIT";
    const payload = JSON.stringify({ from: this.#origin, kinds: [...kinds] });
    return `SELECT pg_notify(${quoteLiteral(this.#channel)}, ${quoteLiteral(payload)}); COMMIT`;
  }

  async start(pool: Pool): Promise<void> {
    this.#pool = pool;
    this.#pollTimer ??= setInterval(this.#listeners.wakeAll, POLL_MS).unref();
    await this.#listen();
  }

  async #listen(): Promise<void> {
    if (this.#isStopped || !this.#pool) return;
    let client: Client | undefined;
    try {
      client = await this.#pool.connect();
      const current = client;
      const presence = `pg_advisory_lock_shared(${PRESENCE})`;
      const [row] = (await client.query(`SELECT ${CHANNEL} AS channel, ${presence}`)).rows;
      this.#channel = String(row?.["channel"]);
      client.on("notification", ({ payload }) => this.#onNotification(payload));
      client.on("error", (error) => this.#onLost(current, error));
      client.on("end", () => this.#onLost(current));
      await client.query(`LISTEN "${this.#channel}"`);
      this.#client = client;
      this.#reconnectMs = MIN_RECONNECT_MS;
      if (this.#isStopped) return this.stop();
      // Notifications are lost while no connection listens, so every listener looks for work now.
      if (this.#wasLost) this.#listeners.wakeAll();
      this.#wasLost = false;
    } catch (error) {
      client?.release(error as Error);
      this.#reconnectLater(error);
    }
  }

  #onNotification(payload: string | undefined): void {
    const { from, kinds } = parsePayload(payload);
    if (from === this.#origin) return;
    if (Array.isArray(kinds)) this.wake(kinds);
    else this.#listeners.wakeAll();
  }

  #onLost(client: Client, error?: Error): void {
    if (this.#client !== client) return;
    this.#client = undefined;
    client.release(error ?? new Error("the connection has ended"));
    this.#reconnectLater(error);
  }

  #reconnectLater(error: unknown): void {
    if (this.#isStopped) return;
    this.#wasLost = true;
    this.#log.debug(
      { err: error },
      "store: notifications of other gateways do not arrive; reconnecting",
    );
    this.#reconnectTimer = setTimeout(
      () => void this.#listen(),
      this.#reconnectMs * (0.5 + Math.random()),
    ).unref();
    this.#reconnectMs = Math.min(this.#reconnectMs * 2, MAX_RECONNECT_MS);
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#reconnectTimer);
    clearInterval(this.#pollTimer);
    const client = this.#client;
    this.#client = undefined;
    client?.release(new Error("the store is closed"));
  }
}
