/** How much clients, webhooks and polls may keep: their transcripts, and the files of their own directory. */
import { lstat, opendir } from "node:fs/promises";
import { join } from "node:path";
import type { Principal } from "portico";
import type { Store } from "portico/store";
import { errors } from "../errors.ts";
import { ownDirectory } from "./access.ts";

/** A directory is measured again after this; what is written meanwhile is added. */
const MEASURED_MS = 60_000;
/** Small files take a block of the disk each. */
const BLOCK_BYTES = 4096;
const MOST_REMEMBERED = 1000;

interface Measured {
  bytes: number;
  at: number;
}

export interface StorageOptions {
  store: () => Store;
  stateDir: string;
  /** Bytes for one principal; 0: without a limit. */
  quota: () => number;
}

export class StorageQuota {
  readonly #options: StorageOptions;
  readonly #directories = new Map<Principal, Measured>();

  constructor(options: StorageOptions) {
    this.#options = options;
  }

  /** Before something is kept for a principal. Throws `storage_full` where it would exceed the quota. */
  async admit(principal: Principal, bytes: number, kind: "files" | "transcript"): Promise<void> {
    const quota = this.#options.quota();
    if (principal === "owner" || quota === 0) return;
    const used = await this.#used(principal, quota - bytes);
    if (used + bytes > quota) throw errors.storageFull({ principal, used, quota, bytes });
    if (kind === "files") this.#add(principal, bytes);
  }

  /** What is over `most` is measured again before it counts: something may have been deleted. */
  async #used(principal: Principal, most: number): Promise<number> {
    const transcripts = await this.#options.store().sessions.bytes(principal);
    const known = this.#directories.get(principal);
    const isFresh = known !== undefined && Date.now() - known.at < MEASURED_MS;
    if (isFresh && transcripts + known.bytes <= most) return transcripts + known.bytes;
    const bytes = await sizeOf(ownDirectory(this.#options.stateDir, principal));
    if (this.#directories.size >= MOST_REMEMBERED) this.#directories.clear();
    this.#directories.set(principal, { bytes, at: Date.now() });
    return transcripts + bytes;
  }

  #add(principal: Principal, bytes: number): void {
    const measured = this.#directories.get(principal);
    if (measured !== undefined) measured.bytes += Math.max(bytes, BLOCK_BYTES);
  }
}

/** 0 for a directory that is not there. */
async function sizeOf(directory: string): Promise<number> {
  let bytes = 0;
  const entries = await opendir(directory).catch(() => undefined);
  if (entries === undefined) return 0;
  for await (const entry of entries) {
    const path = join(directory, entry.name);
    if (entry.isDirectory()) bytes += BLOCK_BYTES + (await sizeOf(path));
    else bytes += await lstat(path).then(blocksOf, () => 0);
  }
  return bytes;
}

function blocksOf({ size }: { size: number }): number {
  return Math.ceil(size / BLOCK_BYTES) * BLOCK_BYTES;
}
