/**
 * Keys that are made where several gateways share a store: they stand in it, and all of them know them. Those of the
 * configuration are one gateway's own.
 */
import { randomUUID } from "node:crypto";
import type { PluginContext } from "portico";
import type { KeyConfig, KeysConfig } from "./schema.ts";

const NAMESPACE = "keys.shared";
/** Another value with each change of a key's limits, which leaves its hash as it is. */
const EDITION = "keys.edition";
const SIGNAL = "keys";
/** Other gateways hear of a change at once. Should the signal get lost, they see the change after this. */
const LOOK_MS = 5_000;

interface StoredKey {
  name: string;
  key: KeyConfig;
}

export type StoredKeys = Awaited<ReturnType<typeof openStoredKeys>>;

/** `changed` is called when `all` has become another one. */
export async function openStoredKeys(ctx: PluginContext, changed: () => void) {
  const kv = () => ctx.use("store").kv;
  const isShared = ctx.use("store").sharedBy === "gateways";
  /** By hash. Each is read once, and all of them again where the edition is another one. */
  let known = new Map<string, StoredKey>();
  let looking: Promise<void> = Promise.resolve();
  let onChange = (): void => {};

  let edition: string | undefined;

  async function read(): Promise<void> {
    const present = await kv().get<string>(EDITION, "limits");
    const current = present === edition ? known : new Map<string, StoredKey>();
    const next = new Map<string, StoredKey>();
    for (const hash of await kv().list(NAMESPACE)) {
      const stored = current.get(hash) ?? (await kv().get<StoredKey>(NAMESPACE, hash));
      if (stored !== undefined) next.set(hash, stored);
    }
    edition = present;
    const isSame =
      next.size === known.size && [...next].every(([hash, one]) => known.get(hash) === one);
    if (isSame) return;
    known = next;
    onChange();
  }

  /** One after the other, so that none that began before a change ends after it. */
  function refresh(): Promise<void> {
    looking = looking.catch(() => {}).then(read);
    return looking;
  }

  async function change(work: () => Promise<unknown>): Promise<void> {
    await work();
    await refresh();
    ctx.find("cluster")?.tell(SIGNAL, {});
  }

  await refresh();
  onChange = changed;
  if (isShared) {
    // Without the store no key is let in at all; the authenticator reports that.
    const lookOn = () => refresh().catch(() => {});
    ctx.add("signal", { name: SIGNAL, take: () => void lookOn() });
    ctx.task("read the keys of other gateways", { everyMs: LOOK_MS }, lookOn);
  }

  return {
    /** New keys belong here, and not into the configuration. */
    isShared,
    /** What the others made and revoked until now is in `all` then. */
    refresh: async () => void (isShared && (await refresh())),
    all: (): KeysConfig =>
      Object.fromEntries([...known.values()].map(({ name, key }) => [name, key])),
    /** Whether another gateway has made it since the last look; it is in `all` then. Rejects where the store fails. */
    async find(hash: string): Promise<boolean> {
      if ((await kv().get(NAMESPACE, hash)) === undefined) return false;
      await refresh();
      return true;
    },
    put: (name: string, key: KeyConfig) =>
      change(() => kv().set(NAMESPACE, key.hash, { name, key } satisfies StoredKey)),
    /** With another secret; other gateways know both at once. */
    replace: (oldHash: string, name: string, key: KeyConfig) =>
      change(async () => {
        await kv().set(NAMESPACE, key.hash, { name, key } satisfies StoredKey);
        await kv().delete(NAMESPACE, oldHash);
      }),
    /** With other limits and the same secret. */
    change: (name: string, key: KeyConfig) =>
      change(async () => {
        await kv().set(NAMESPACE, key.hash, { name, key } satisfies StoredKey);
        await kv().set(EDITION, "limits", randomUUID());
      }),
    /** Whether the key is in the store, and not in a gateway's own configuration. */
    has: (name: string) => [...known.values()].some((stored) => stored.name === name),
    async remove(name: string): Promise<void> {
      const hashes = [...known].filter(([, stored]) => stored.name === name).map(([hash]) => hash);
      if (hashes.length > 0)
        await change(() => Promise.all(hashes.map((hash) => kv().delete(NAMESPACE, hash))));
    },
  };
}
