/** A directory for files that pass through a node. Each request's files have a subdirectory of their own. */
import { mkdir, mkdtemp, readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { ensureTmpRoot } from "portico/browser";

export class TransferDirectory {
  readonly #tmp: string;
  readonly #name: string;
  readonly #retentionMs: number;

  /**
   * `name` is a directory below the temporary root `tmp`. Each `create` removes entries that are older than `retentionMs`.
   */
  constructor(tmp: string, name: string, retentionMs: number) {
    this.#tmp = tmp;
    this.#name = name;
    this.#retentionMs = retentionMs;
  }

  /** Creates a new, empty directory, and returns its path. */
  async create(): Promise<string> {
    const root = join((await ensureTmpRoot(this.#tmp)).path, this.#name);
    await mkdir(root, { recursive: true, mode: 0o700 });
    await this.#prune(root);
    return mkdtemp(join(root, "of-"));
  }

  async #prune(root: string): Promise<void> {
    const oldest = Date.now() - this.#retentionMs;
    for (const name of await readdir(root)) {
      const path = join(root, name);
      const stats = await stat(path).catch(() => undefined);
      if (stats !== undefined && stats.mtimeMs < oldest)
        await rm(path, { recursive: true, force: true });
    }
  }

  /** Removes everything. */
  clear(): Promise<void> {
    return rm(join(this.#tmp, this.#name), { recursive: true, force: true });
  }
}
