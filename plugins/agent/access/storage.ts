/** Limits the storage of clients, webhooks and polls: their transcripts and the files in their directories. */
import { lstat, opendir } from "node:fs/promises";
import { join } from "node:path";
import type { Principal } from "portico";
import type { Store } from "portico/store";
import { errors } from "../errors.ts";
import { ownDirectory } from "./access.ts";

/** A measurement of a directory is valid for this long. Writes in the meantime are added to it. */
const MEASUREMENT_TTL_MS = 60_000;
/** Even a small file occupies one block of the disk. */
const BLOCK_BYTES = 4096;
const MAX_MEASUREMENTS = 1000;

interface Measurement {
  bytes: number;
  at: number;
}

export interface StorageOptions {
  store: () => Store;
  stateDir: string;
  /** Returns the limit for one principal, in bytes; 0 means that there is no limit. */
  quota: () => number;
}

export class StorageQuota {
  readonly #options: StorageOptions;
  readonly #measurements = new Map<Principal, Measurement>();

  constructor(options: StorageOptions) {
    this.#options = options;
  }

  /** Call this before storing data for a principal. Throws `storage_full` if the data would exceed the quota. */
  async admit(principal: Principal, bytes: number, kind: "files" | "transcript"): Promise<void> {
    const quota = this.#options.quota();
    if (principal === "owner" || quota === 0) return;
    const usedBytes = await this.#measureUsage(principal, quota - bytes);
    if (usedBytes + bytes > quota)
      throw errors.storageFull({ principal, used: usedBytes, quota, bytes });
    if (kind === "files") this.#addBytes(principal, bytes);
  }

  /**
   * Returns bytes. A result above `limit` always comes from a fresh measurement, because files may have been deleted.
   */
  async #measureUsage(principal: Principal, limit: number): Promise<number> {
    const transcripts = await this.#options.store().sessions.bytes(principal);
    const measurement = this.#measurements.get(principal);
    const isFresh = measurement !== undefined && Date.now() - measurement.at < MEASUREMENT_TTL_MS;
    if (isFresh && transcripts + measurement.bytes <= limit) return transcripts + measurement.bytes;
    const bytes = await measureDirectory(ownDirectory(this.#options.stateDir, principal));
    if (this.#measurements.size >= MAX_MEASUREMENTS) this.#measurements.clear();
    this.#measurements.set(principal, { bytes, at: Date.now() });
    return transcripts + bytes;
  }

  #addBytes(principal: Principal, bytes: number): void {
    const measurement = this.#measurements.get(principal);
    if (measurement !== undefined) measurement.bytes += Math.max(bytes, BLOCK_BYTES);
  }
}

/** Returns the size in bytes; 0 if the directory does not exist. */
async function measureDirectory(directory: string): Promise<number> {
  let bytes = 0;
  const entries = await opendir(directory).catch(() => undefined);
  if (entries === undefined) return 0;
  for await (const entry of entries) {
    const path = join(directory, entry.name);
    if (entry.isDirectory()) bytes += BLOCK_BYTES + (await measureDirectory(path));
    else bytes += await lstat(path).then(roundToBlocks, () => 0);
  }
  return bytes;
}

function roundToBlocks({ size }: { size: number }): number {
  return Math.ceil(size / BLOCK_BYTES) * BLOCK_BYTES;
}
