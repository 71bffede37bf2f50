/** Files of answers that the gateway has not confirmed yet. */
import { rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { Logger } from "portico";
import type { TransferDirectory } from "./transfer-directory.ts";

interface OutgoingFile {
  path: string;
  /** The file cannot be created again, such as a download or a trace. */
  isIrreplaceable: boolean;
}

export class Outgoing {
  readonly #directory: TransferDirectory;
  readonly #log: Logger;
  readonly #unconfirmed = new Map<number, OutgoingFile>();

  constructor(directory: TransferDirectory, log: Logger) {
    this.#directory = directory;
    this.#log = log;
  }

  /**
   * Moves the file to a directory of its own, so that a later file of the same name does not replace it. Returns the new
   * path.
   */
  async take(id: number, originalPath: string, isIrreplaceable: boolean): Promise<string> {
    const path = join(await this.#directory.create(), basename(originalPath));
    await rename(originalPath, path);
    this.#unconfirmed.set(id, { path, isIrreplaceable });
    return path;
  }

  /** Removes the file, since the gateway has stored it. */
  async confirm(id: number): Promise<void> {
    const file = this.#unconfirmed.get(id);
    this.#unconfirmed.delete(id);
    // A file that cannot be removed now is pruned later by its age.
    if (file !== undefined)
      await rm(dirname(file.path), { recursive: true, force: true }).catch(() => {});
  }

  /** Handles a failed transfer: keeps the file if it cannot be created again, else removes it. */
  fail(id: number): void {
    const file = this.#unconfirmed.get(id);
    if (file === undefined) return;
    if (!file.isIrreplaceable) return void this.confirm(id);
    this.#unconfirmed.delete(id);
    this.#log.warn(
      { path: file.path },
      "a file did not reach the gateway; the node stores the file for a week",
    );
  }

  failAll(): void {
    for (const id of this.#unconfirmed.keys()) this.fail(id);
  }
}
