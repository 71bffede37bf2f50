/** Files that pass through a node: those of one request in a directory of their own, until nobody needs them any more. */
import { mkdir, mkdtemp, readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { ensureTmpRoot } from "portico/browser";

export class TransferDirectory {
  readonly #tmp: string;
  readonly #name: string;
  readonly #keptMs: number;

  /** `name` is a directory below the temporary root `tmp`; what is older than `keptMs` goes when something new comes. */
  constructor(tmp: string, name: string, keptMs: number) {
    this.#tmp = tmp;
    this.#name = name;
    this.#keptMs = keptMs;
  }

  /** A new, empty directory. */
  async create(): Promise<string> {
    const root = join((await ensureTmpRoot(this.#tmp)).path, this.#name);
    await mkdir(root, { recursive: true, mode: 0o700 });
    await this.#prune(root);
    return mkdtemp(join(root, "of-"));
  }

  async #prune(root: string): Promise<void> {
    const oldest = Date.now() - this.#keptMs;
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
