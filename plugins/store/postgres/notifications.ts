/** Notifications of work that other gateways have added. Where the server cannot notify, listeners look now and then. */
import type { Logger } from "portico";
import { Listeners } from "../sql/listeners.ts";
import type { Client, Pool } from "./connection.ts";

const SHORTEST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 5000;
const SLOW_LOOK_MS = 15_000;

/** Of this schema. A channel's name has up to 63 bytes, and stands in quotes: of other schemas it is a hash. */
const CHANNEL = `'portico:' || CASE WHEN octet_length(current_schema()) > 55 OR strpos(current_schema(), '"') > 0
  THEN hashtextextended(current_schema(), 0)::text ELSE current_schema()::text END`;

/** Each listener holds it for as long as it listens. Every user of a database sees who holds its locks. */
const PRESENCE = `hashtextextended('portico:gateway:' || current_schema(), 0)`;

/**
 * How many listen for work in this schema. Older gateways hold no lock: they are known by their last statement, as far as
 * the user may see it.
 */
export const LISTENING = `SELECT GREATEST(
  (SELECT COUNT(*) FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1 AND mode = 'ShareLock'
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND (classid::bigint << 32) | objid::bigint = ${PRESENCE}),
  (SELECT COUNT(*) FROM pg_stat_activity
    WHERE datname = current_database() AND query = 'LISTEN "' || ${CHANNEL} || '"')) AS n`;

function literal(text: string): string {
  return `E'${text.replaceAll("\\", "\\\\").replaceAll("'", "''")}'`;
}

/** Any user of the database may write to the channel, whatever it likes. */
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
  #retry: NodeJS.Timeout | undefined;
  #slowLook: NodeJS.Timeout | undefined;
  #waitMs = SHORTEST_WAIT_MS;
  #stopped = false;
  #wasLost = false;

  constructor(log: Logger) {
    this.#log = log;
  }

  onWork(kind: string, wake: () => void): () => void {
    return this.#listeners.add(kind, wake);
  }

  /** In this process. */
  wake(kinds: Iterable<string>): void {
    this.#listeners.wake(kinds);
  }

  /** The end of a transaction: others hear of its kinds of work once it is committed. */
  commitAndNotify(kinds: ReadonlySet<string>): string {
    if (kinds.size === 0 || this.#channel === undefined) return "COMMIT";
    const payload = JSON.stringify({ from: this.#origin, kinds: [...kinds] });
    return `SELECT pg_notify(${literal(this.#channel)}, ${literal(payload)}); COMMIT`;
  }

  async start(pool: Pool): Promise<void> {
    this.#pool = pool;
    this.#slowLook ??= setInterval(this.#listeners.wakeAll, SLOW_LOOK_MS).unref();
    await this.#listen();
  }

  async #listen(): Promise<void> {
    if (this.#stopped || !this.#pool) return;
    let client: Client | undefined;
    try {
      client = await this.#pool.connect();
      const current = client;
      const presence = `pg_advisory_lock_shared(${PRESENCE})`;
      const [row] = (await client.query(`SELECT ${CHANNEL} AS channel, ${presence}`)).rows;
      this.#channel = String(row?.["channel"]);
      client.on("notification", ({ payload }) => this.#hear(payload));
      client.on("error", (error) => this.#lost(current, error));
      client.on("end", () => this.#lost(current));
      await client.query(`LISTEN "${this.#channel}"`);
      this.#client = client;
      this.#waitMs = SHORTEST_WAIT_MS;
      if (this.#stopped) return this.stop();
      // Notifications are lost while no connection listens, so every listener looks for work now.
      if (this.#wasLost) this.#listeners.wakeAll();
      this.#wasLost = false;
    } catch (error) {
      client?.release(error as Error);
      this.#again(error);
    }
  }

  #hear(payload: string | undefined): void {
    const { from, kinds } = parsePayload(payload);
    if (from === this.#origin) return;
    if (Array.isArray(kinds)) this.wake(kinds);
    else this.#listeners.wakeAll();
  }

  #lost(client: Client, error?: Error): void {
    if (this.#client !== client) return;
    this.#client = undefined;
    client.release(error ?? new Error("the connection has ended"));
    this.#again(error);
  }

  #again(error: unknown): void {
    if (this.#stopped) return;
    this.#wasLost = true;
    this.#log.debug(
      { err: error },
      "store: notifications of other gateways do not arrive; reconnecting",
    );
    this.#retry = setTimeout(
      () => void this.#listen(),
      this.#waitMs * (0.5 + Math.random()),
    ).unref();
    this.#waitMs = Math.min(this.#waitMs * 2, LONGEST_WAIT_MS);
  }

  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#retry);
    clearInterval(this.#slowLook);
    const client = this.#client;
    this.#client = undefined;
    client?.release(new Error("the store is closed"));
  }
}
