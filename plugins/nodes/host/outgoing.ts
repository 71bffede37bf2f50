/** Files of answers, until the gateway has them. */
import { rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { Logger } from "portico";
import type { Shelf } from "./shelf.ts";

export class Outgoing {
  readonly #shelf: Shelf;
  readonly #log: Logger;
  readonly #unconfirmed = new Map<number, string>();

  constructor(shelf: Shelf, log: Logger) {
    this.#shelf = shelf;
    this.#log = log;
  }

  /** Puts it where the next file of its name does not take its place; its new path. */
  async take(id: number, path: string): Promise<string> {
    const file = join(await this.#shelf.place(), basename(path));
    await rename(path, file);
    this.#unconfirmed.set(id, file);
    return file;
  }

  /** The gateway has it. */
  async confirmed(id: number): Promise<void> {
    const file = this.#unconfirmed.get(id);
    this.#unconfirmed.delete(id);
    // What cannot be removed now goes by its age.
    if (file !== undefined) await rm(dirname(file), { recursive: true, force: true }).catch(() => {});
  }

  /** The gateway will not have it, and a trace cannot be made again. */
  keep(id: number): void {
    const path = this.#unconfirmed.get(id);
    if (this.#unconfirmed.delete(id))
      this.#log.warn({ path }, "a file did not reach the gateway: it is kept here for a week");
  }

  keepAll(): void {
    for (const id of this.#unconfirmed.keys()) this.keep(id);
  }
}
