/**
 * Changes of the configuration that did not come over HTTP: an editor, `portico config` on the file, the gateway itself.
 * The configuration's history knows them, also those that were made while no gateway ran.
 */
import { createHash } from "node:crypto";
import type { Management, VersionInfo } from "portico";
import { FILE_ACTION } from "./entry.ts";
import type { Trail } from "./trail.ts";
import { shownDifferences } from "./values.ts";

type Config = Pick<Management["config"], "versions" | "differences">;

export class FileChanges {
  readonly #trail: Trail;
  readonly #config: Config;
  readonly #home: string;
  #running: Promise<void> = Promise.resolve();
  /** The newest version that was looked at. */
  #seen = 0;

  /** `home` tells gateways apart that share a store. */
  constructor(trail: Trail, config: Config, home: string) {
    this.#trail = trail;
    this.#config = config;
    this.#home = createHash("sha256").update(home).digest("hex").slice(0, 8);
  }

  /** Adds what is new in the history. */
  sync(): Promise<void> {
    this.#running = this.#running.catch(() => {}).then(() => this.#sync());
    return this.#running;
  }

  async #sync(): Promise<void> {
    const versions = await this.#config.versions();
    for (const [i, version] of versions.entries()) {
      const previous = versions[i - 1];
      if (version.id <= this.#seen || !previous) continue;
      if (isFromElsewhere(version)) await this.#add(previous, version);
      this.#seen = version.id;
    }
  }

  async #add(previous: VersionInfo, version: VersionInfo): Promise<void> {
    const at = Date.parse(version.at);
    const id = `cfg_${this.#home}-${version.id}-${at}`;
    if (await this.#trail.has(id)) return;
    const differences = await this.#config.differences(previous.id, version.id);
    const changes = shownDifferences(differences.map(({ kind: _, ...change }) => change));
    const { principal, via } = version;
    const entry = { outcome: "made", principal, via, action: FILE_ACTION, changes } as const;
    await this.#trail.add(entry, { id, at });
  }
}

/** A change over HTTP names an address, and is in the trail by its request. */
function isFromElsewhere({ address, keys }: VersionInfo): boolean {
  return address === undefined && keys.length > 0;
}
