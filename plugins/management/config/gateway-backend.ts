/** The configuration of the gateway at `--url`. Each write carries the version that was read just before. */
import {
  type ConfigDifference,
  type ConfigProblem,
  type PortableConfig,
  parseKeyPath,
  readConfigValue,
  type VersionInfo,
} from "portico";
import type { GatewayClient } from "portico/command-line";
import type { Change, ConfigBackend } from "./change.ts";
import { versionTag } from "portico/strings";

interface ShownConfig {
  version: string;
  value: unknown;
  problem: { message: string; line?: number } | null;
  leftOut: ConfigProblem[];
}

const PATH = "/kernel/config";

export class GatewayBackend implements ConfigBackend {
  readonly #gateway: GatewayClient;

  constructor(gateway: GatewayClient) {
    this.#gateway = gateway;
  }

  async get(key: string | undefined, reveal: boolean): Promise<unknown> {
    if (reveal)
      throw new Error("The gateway does not show secrets over HTTP. Leave out --url or --reveal.");
    const { value } = await this.#read();
    return key === undefined ? value : (valueAt(value, key) ?? null);
  }

  /** Sets a key. If the schema refuses the parsed value (`12345` for a token), sends the words again as a string. */
  async set(key: string, words: string, dryRun: boolean): Promise<Change & { value: unknown }> {
    const value = readConfigValue(words);
    const isAmbiguous = typeof value !== "string" && typeof value !== "object";
    const changed = await this.#write("POST", PATH, { key, value }, dryRun).catch((error) => {
      if (!isAmbiguous || error.status !== 400) throw error;
      return this.#write("POST", PATH, { key, value: words }, dryRun).catch(() => {
        throw error;
      });
    });
    const updated = await this.#read();
    return { ...changed, value: valueAt(updated.value, key) };
  }

  unset(key: string, dryRun: boolean): Promise<Change> {
    return this.#write("POST", PATH, { key }, dryRun);
  }

  export(): Promise<PortableConfig> {
    return this.#gateway.request<PortableConfig>("GET", `${PATH}/export`);
  }

  import(configuration: Readonly<Record<string, unknown>>, dryRun: boolean): Promise<Change> {
    return this.#write("POST", `${PATH}/import`, { configuration }, dryRun);
  }

  undo(to: number | undefined, dryRun: boolean): Promise<Change> {
    return this.#write("POST", `${PATH}/undo`, to === undefined ? {} : { to }, dryRun);
  }

  async versions(): Promise<VersionInfo[]> {
    const { versions } = await this.#gateway.request<{ versions: VersionInfo[] }>(
      "GET",
      `${PATH}/history`,
    );
    return versions.reverse();
  }

  async differences(from?: number, to?: number): Promise<ConfigDifference[]> {
    const { changes } = await this.#gateway.request<{ changes: ConfigDifference[] }>(
      "GET",
      `${PATH}/diff`,
      undefined,
      { query: { from, to } },
    );
    return changes;
  }

  async validate() {
    const { problem, leftOut } = await this.#read();
    const broken = problem ? [{ key: "", ...problem }] : [];
    return { file: "the gateway's configuration", problems: [...broken, ...leftOut] };
  }

  #read(): Promise<ShownConfig> {
    return this.#gateway.request<ShownConfig>("GET", PATH);
  }

  async #write(method: string, path: string, body: object, dryRun: boolean): Promise<Change> {
    const { version } = await this.#read();
    const { ok: _, ...changed } = await this.#gateway.request<Change & { ok: true }>(
      method,
      path,
      body,
      { headers: { "if-match": versionTag(version) }, query: { dryRun: dryRun || undefined } },
    );
    return changed;
  }
}

function valueAt(value: unknown, key: string): unknown {
  let current = value;
  for (const step of parseKeyPath(key)) {
    if (typeof current !== "object" || current === null || !Object.hasOwn(current, step))
      return undefined;
    current = (current as Record<string | number, unknown>)[step];
  }
  return current;
}
