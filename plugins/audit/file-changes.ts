/**
 * Changes of the configuration that were not made over HTTP: by an editor, by `portico config` on the file, or by the
 * gateway itself. The configuration's history has them, including those that were made while no gateway was running.
 */
import { createHash } from "node:crypto";
import type { Management, VersionInfo } from "portico";
import { FILE_ACTION } from "./entry.ts";
import type { Trail } from "./trail.ts";
import { maskDifferences } from "./values.ts";

type Config = Pick<Management["config"], "versions" | "differences">;

export class FileChanges {
  readonly #trail: Trail;
  readonly #config: Config;
  readonly #home: string;
  #running: Promise<void> = Promise.resolve();
  /** The id of the newest version that was processed. */
  #lastVersion = 0;

  /** `home` distinguishes gateways that share a store. */
  constructor(trail: Trail, config: Config, home: string) {
    this.#trail = trail;
    this.#config = config;
    this.#home = createHash("sha256").update(home).digest("hex").slice(0, 8);
  }

  /** Adds new versions of the configuration's history to the trail. */
  sync(): Promise<void> {
    this.#running = this.#running.catch(() => {}).then(() => this.#sync());
    return this.#running;
  }

  async #sync(): Promise<void> {
    const versions = await this.#config.versions();
    for (const [i, version] of versions.entries()) {
      const previous = versions[i - 1];
      if (version.id <= this.#lastVersion || !previous) continue;
      if (isOutsideHttp(version)) await this.#add(previous, version);
      this.#lastVersion = version.id;
    }
  }

  async #add(previous: VersionInfo, version: VersionInfo): Promise<void> {
    const at = Date.parse(version.at);
    const id = `cfg_${this.#home}-${version.id}-${at}`;
    if (await this.#trail.has(id)) return;
    const differences = await this.#config.differences(previous.id, version.id);
    const changes = maskDifferences(differences.map(({ kind: _, ...change }) => change));
    const { principal, via } = version;
    const entry = { outcome: "made", principal, via, action: FILE_ACTION, changes } as const;
    await this.#trail.add(entry, { id, at });
  }
}

/** True if the change was not made over HTTP. One over HTTP has an address, and its request is in the trail already. */
function isOutsideHttp({ address, keys }: VersionInfo): boolean {
  return address === undefined && keys.length > 0;
}
