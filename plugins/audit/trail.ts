/** The audit trail in the store: durable, and bounded by number and age. */
import { randomBytes } from "node:crypto";
import type { Run, Store } from "portico/store";
import type { AuditEntry, NewEntry } from "./entry.ts";
import { isAfter, type Place } from "./place.ts";
import type { AuditConfig } from "./schema.ts";

/**
 * Refused attempts of everybody else have a room of their own, so that a stranger or a client key that tries again and
 * again cannot push out what the owner did.
 */
const OWNERS = { owner: "audit", others: "audit:others" } as const;
type Shelf = keyof typeof OWNERS;

const KEPT_OF_OTHERS = 1000;
const PAGE = 500;
const WRITES_PER_PRUNE = 200;
const DAY_MS = 86_400_000;

export class Trail {
  readonly #store: () => Store;
  readonly #config: () => AuditConfig;
  #written = 0;

  constructor(store: () => Store, config: () => AuditConfig) {
    this.#store = store;
    this.#config = config;
  }

  now(): number {
    return this.#store().now();
  }

  /** Resolves once the entry is durable. */
  async add(entry: NewEntry, { id = newId(), at = this.now() } = {}): Promise<void> {
    const owner = OWNERS[shelfOf(entry)];
    await this.#store().runs.put({
      id,
      owner,
      at,
      endedAt: at,
      status: entry.outcome,
      data: entry,
    });
    this.#written += 1;
    if (this.#written % WRITES_PER_PRUNE === 0) await this.prune();
  }

  async has(id: string): Promise<boolean> {
    return (await this.#store().runs.get(id)) !== undefined;
  }

  async get(id: string): Promise<AuditEntry | undefined> {
    const run = await this.#store().runs.get(id);
    const isOurs = run?.owner === OWNERS.owner || run?.owner === OWNERS.others;
    return isOurs ? viewOf(run) : undefined;
  }

  /** The newest first, after a place. */
  async *newest(after: Place | undefined): AsyncGenerator<AuditEntry> {
    const lists = Object.values(OWNERS).map((owner) => this.#runs(owner, after));
    const heads = await Promise.all(lists.map((list) => list.next()));
    for (;;) {
      const at = indexOfNewest(heads.map(({ value }) => value));
      if (at === undefined) return;
      yield viewOf(heads[at]!.value as Run);
      heads[at] = await lists[at]!.next();
    }
  }

  /** Drops what is beyond the number and the age that are kept. */
  async prune(): Promise<void> {
    const { keep, keepDays } = this.#config();
    const since = this.now() - keepDays * DAY_MS;
    await this.#pruneShelf(OWNERS.owner, keep, since);
    await this.#pruneShelf(OWNERS.others, KEPT_OF_OTHERS, since);
  }

  async #pruneShelf(owner: string, most: number, since: number): Promise<void> {
    let young = 0;
    for await (const { at } of this.#runs(owner, undefined)) {
      if (at < since || young >= most) break;
      young += 1;
    }
    await this.#store().runs.prune(owner, young);
  }

  async *#runs(owner: string, after: Place | undefined): AsyncGenerator<Run> {
    let place = after;
    for (;;) {
      // Several may have the same time: those before the place are passed over.
      const before = place && place.at + 1;
      const page = await this.#store().runs.list({ owner, limit: PAGE, before });
      for (const run of page) if (!place || isAfter(run, place)) yield run;
      const last = page.at(-1);
      if (page.length < PAGE || !last) return;
      place = last;
    }
  }
}

function shelfOf({ principal }: NewEntry): Shelf {
  return principal === "owner" ? "owner" : "others";
}

function newId(): string {
  return `aud_${randomBytes(12).toString("base64url")}`;
}

function indexOfNewest(heads: readonly (Run | undefined)[]): number | undefined {
  let newest: number | undefined;
  for (const [i, head] of heads.entries()) {
    const best = newest === undefined ? undefined : heads[newest];
    if (head && (!best || isAfter(best, head))) newest = i;
  }
  return newest;
}

function viewOf({ id, at, data }: Run): AuditEntry {
  return { id, at: new Date(at).toISOString(), ...(data as NewEntry) };
}
