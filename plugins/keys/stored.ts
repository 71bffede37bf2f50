/**
 * Keys in a store that several gateways share, so that all of them know these keys. The keys of the configuration belong to
 * one gateway.
 */
import { randomUUID } from "node:crypto";
import type { PluginContext } from "portico";
import type { KeyConfig, KeysConfig } from "./schema.ts";

const NAMESPACE = "keys.shared";
/** A value that each change of a key's limits replaces, since such a change leaves the key's hash unchanged. */
const EDITION = "keys.edition";
const SIGNAL = "keys";
/** Other gateways receive a signal after a change. If it gets lost, they see the change after this time. */
const REFRESH_MS = 5_000;

interface StoredKey {
  name: string;
  key: KeyConfig;
}

export type StoredKeys = Awaited<ReturnType<typeof openStoredKeys>>;

/** Opens the keys of the store, and calls `onKeysChanged` whenever the result of `all` changes. */
export async function openStoredKeys(ctx: PluginContext, onKeysChanged: () => void) {
  const kv = () => ctx.use("store").kv;
  const isShared = ctx.use("store").sharedBy === "gateways";
  /** Keys by hash. Each key is read once; all of them are read again after a change of the edition. */
  let keysByHash = new Map<string, StoredKey>();
  let lastRefresh: Promise<void> = Promise.resolve();
  let onChange = (): void => {};

  let edition: string | undefined;

  async function readKeys(): Promise<void> {
    const currentEdition = await kv().get<string>(EDITION, "limits");
    const current = currentEdition === edition ? keysByHash : new Map<string, StoredKey>();
    const next = new Map<string, StoredKey>();
    for (const hash of await kv().list(NAMESPACE)) {
      const stored = current.get(hash) ?? (await kv().get<StoredKey>(NAMESPACE, hash));
      if (stored !== undefined) next.set(hash, stored);
    }
    edition = currentEdition;
    const isSame =
      next.size === keysByHash.size &&
      [...next].every(([hash, stored]) => keysByHash.get(hash) === stored);
    if (isSame) return;
    keysByHash = next;
    onChange();
  }

  /** Refreshes run one after another, so that none that began before a change ends after a later one. */
  function refresh(): Promise<void> {
    lastRefresh = lastRefresh.catch(() => {}).then(readKeys);
    return lastRefresh;
  }

  async function change(work: () => Promise<unknown>): Promise<void> {
    await work();
    await refresh();
    ctx.find("cluster")?.tell(SIGNAL, {});
  }

  await refresh();
  onChange = onKeysChanged;
  if (isShared) {
    // While the store fails, the authenticator rejects every key and reports the failure.
    const tryRefresh = () => refresh().catch(() => {});
    ctx.add("signal", { name: SIGNAL, take: () => void tryRefresh() });
    ctx.task("read the keys of other gateways", { everyMs: REFRESH_MS }, tryRefresh);
  }

  return {
    /** True if new keys belong in the store and not in the configuration. */
    isShared,
    /** Reads the keys, so that `all` contains every change that other gateways have made. */
    refresh: async () => void (isShared && (await refresh())),
    all: (): KeysConfig =>
      Object.fromEntries([...keysByHash.values()].map(({ name, key }) => [name, key])),
    /** Returns true, and refreshes `all`, if the store holds a key with this hash. Rejects if the store fails. */
    async find(hash: string): Promise<boolean> {
      if ((await kv().get(NAMESPACE, hash)) === undefined) return false;
      await refresh();
      return true;
    },
    put: (name: string, key: KeyConfig) =>
      change(() => kv().set(NAMESPACE, key.hash, { name, key } satisfies StoredKey)),
    /** Stores a key with a new secret. Other gateways see both changes together. */
    replace: (oldHash: string, name: string, key: KeyConfig) =>
      change(async () => {
        await kv().set(NAMESPACE, key.hash, { name, key } satisfies StoredKey);
        await kv().delete(NAMESPACE, oldHash);
      }),
    /** Stores a key with other limits and the same secret. */
    change: (name: string, key: KeyConfig) =>
      change(async () => {
        await kv().set(NAMESPACE, key.hash, { name, key } satisfies StoredKey);
        await kv().set(EDITION, "limits", randomUUID());
      }),
    /** Returns true if the key is in the store, and not in a gateway's configuration. */
    has: (name: string) => [...keysByHash.values()].some((stored) => stored.name === name),
    async remove(name: string): Promise<void> {
      const hashes = [...keysByHash]
        .filter(([, stored]) => stored.name === name)
        .map(([hash]) => hash);
      if (hashes.length > 0)
        await change(() => Promise.all(hashes.map((hash) => kv().delete(NAMESPACE, hash))));
    },
  };
}
