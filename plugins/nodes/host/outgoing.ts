/** Files of answers, until the gateway has them. */
import { rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { Logger } from "portico";
import type { TransferDirectory } from "./transfer-directory.ts";

interface Leaving {
  path: string;
  /** The file cannot be made again: a download, a trace. */
  isOnly: boolean;
}

export class Outgoing {
  readonly #directory: TransferDirectory;
  readonly #log: Logger;
  readonly #unconfirmed = new Map<number, Leaving>();

  constructor(directory: TransferDirectory, log: Logger) {
    this.#directory = directory;
    this.#log = log;
  }

  /** Puts it where the next file of its name does not take its place; its new path. */
  async take(id: number, made: string, isOnly: boolean): Promise<string> {
    const path = join(await this.#directory.create(), basename(made));
    await rename(made, path);
    this.#unconfirmed.set(id, { path, isOnly });
    return path;
  }

  /** The gateway has it. */
  async confirmed(id: number): Promise<void> {
    const file = this.#unconfirmed.get(id);
    this.#unconfirmed.delete(id);
    // What cannot be removed now goes by its age.
    if (file !== undefined)
      await rm(dirname(file.path), { recursive: true, force: true }).catch(() => {});
  }

  /** The gateway will not have it: it is kept where it is the only one. */
  failed(id: number): void {
    const file = this.#unconfirmed.get(id);
    if (file === undefined) return;
    if (!file.isOnly) return void this.confirmed(id);
    this.#unconfirmed.delete(id);
    this.#log.warn(
      { path: file.path },
      "a file did not reach the gateway; the node keeps it for a week",
    );
  }

  allFailed(): void {
    for (const id of this.#unconfirmed.keys()) this.failed(id);
  }
}
