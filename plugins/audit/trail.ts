/** The audit trail in the store: durable, and bounded by number and age. */
import { randomBytes } from "node:crypto";
import type { Run, Store } from "portico/store";
import type { AuditEntry, NewEntry } from "./entry.ts";
import { isAfter, type Place } from "./place.ts";
import type { AuditConfig } from "./schema.ts";

/**
 * The store's owner names for the two parts of the trail. Attempts of other principals are stored separately, so that a
 * stranger or a client key with many attempts cannot displace the owner's changes.
 */
const OWNERS = { owner: "audit", others: "audit:others" } as const;
type TrailPart = keyof typeof OWNERS;

const MAX_OTHERS = 1000;
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
    const owner = OWNERS[partOf(entry)];
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
    return isOurs ? toEntry(run) : undefined;
  }

  /** Yields the entries after a place, newest first. */
  async *newest(after: Place | undefined): AsyncGenerator<AuditEntry> {
    const lists = Object.values(OWNERS).map((owner) => this.#runs(owner, after));
    const heads = await Promise.all(lists.map((list) => list.next()));
    for (;;) {
      const at = indexOfNewest(heads.map(({ value }) => value));
      if (at === undefined) return;
      yield toEntry(heads[at]!.value as Run);
      heads[at] = await lists[at]!.next();
    }
  }

  /** Deletes the entries beyond the configured number and age. */
  async prune(): Promise<void> {
    const { keep, keepDays } = this.#config();
    const since = this.now() - keepDays * DAY_MS;
    await this.#prunePart(OWNERS.owner, keep, since);
    await this.#prunePart(OWNERS.others, MAX_OTHERS, since);
  }

  async #prunePart(owner: string, limit: number, since: number): Promise<void> {
    let kept = 0;
    for await (const { at } of this.#runs(owner, undefined)) {
      if (at < since || kept >= limit) break;
      kept += 1;
    }
    await this.#store().runs.prune(owner, kept);
  }

  async *#runs(owner: string, after: Place | undefined): AsyncGenerator<Run> {
    let place = after;
    let limit = PAGE;
    for (;;) {
      // Several runs may have the same time, so those up to the place are skipped.
      const before = place && place.at + 1;
      const page = await this.#store().runs.list({ owner, limit, before });
      for (const run of page) if (!place || isAfter(run, place)) yield run;
      const last = page.at(-1);
      if (page.length < limit || !last) return;
      // A page of a single time would come again: only a larger one leads beyond it.
      limit = page[0]?.at === last.at ? limit * 2 : PAGE;
      place = last;
    }
  }
}

function partOf({ principal }: NewEntry): TrailPart {
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

function toEntry({ id, at, data }: Run): AuditEntry {
  return { id, at: new Date(at).toISOString(), ...(data as NewEntry) };
}
