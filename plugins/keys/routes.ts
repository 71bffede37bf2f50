/** `/keys`: makes, lists, changes, rotates and revokes. */
import { setTimeout } from "node:timers/promises";
import {
  type Call,
  type ConfigEdit,
  type PluginContext,
  refuseNetwork,
  reply,
  type Static,
} from "portico";
import { parseDuration } from "portico/schedules";
import { expectedVersions, versionTag } from "portico/strings";
import { errors } from "./errors.ts";
import { hashOf, idOf, newKey, versionOf } from "./grant.ts";
import type { Holders } from "./holders.ts";
import type { StoredKeys } from "./stored.ts";
import { type KeyView, viewOf } from "./view.ts";
import { keyRoutes } from "./routes-schema.ts";
import type {
  changeRequest,
  createRequest,
  KeyConfig,
  KeysConfig,
  rotateRequest,
} from "./schema.ts";

const DEFAULT_OVERLAP = "24h";

/** In the store: names of keys that a request is changing. Entries that a crash leaves there expire. */
const LOCKS = "keys.making";
const LOCK_MS = 30_000;
/** How long a revocation waits for a change of the same key. */
const REVOKE_WAIT_MS = 5_000;
const LOCK_RETRY_MS = 20;

export interface KeysOptions {
  ctx: PluginContext;
  keys: () => KeysConfig;
  stored: StoredKeys;
  holders: Holders;
}

export function mountKeys(options: KeysOptions): void {
  const { ctx } = options;
  const keys = new KeyManagement(options);
  ctx.route("GET", "/keys", keyRoutes.list, () => keys.list());
  ctx.route("GET", "/keys/:name", keyRoutes.show, (call) => keys.show(call));
  ctx.route("POST", "/keys", keyRoutes.make, (call) => keys.create(call));
  ctx.route("PATCH", "/keys/:name", keyRoutes.change, (call) => keys.change(call));
  ctx.route("POST", "/keys/:name/rotate", keyRoutes.rotate, (call) => keys.rotate(call));
  ctx.route("DELETE", "/keys/:name", keyRoutes.revoke, (call) => keys.revoke(call));
}

class KeyManagement {
  readonly #options: KeysOptions;

  constructor(options: KeysOptions) {
    this.#options = options;
  }

  async list() {
    // Without the store, the keys that are known already are shown.
    await this.#options.stored.refresh().catch(() => {});
    const keys = Object.entries(this.#options.keys());
    return { keys: await Promise.all(keys.map(([name, key]) => this.#view(name, key))) };
  }

  async show({ params }: Call) {
    await this.#options.stored.refresh().catch(() => {});
    const name = params["name"] ?? "";
    return withTag(await this.#view(name, this.#keyNamed(name)));
  }

  /** Several callers may create a key of one name at once, on any gateway or worker: one of them succeeds. */
  async create(call: Call) {
    const { name, ...limits } = await call.json<Static<typeof createRequest>>();
    checkLimits(limits);
    return this.#exclusively(name, () => this.#create(name, limits));
  }

  async #create(name: string, limits: Omit<KeyConfig, "hash" | "enabled">) {
    const { keys, stored, holders } = this.#options;
    await stored.refresh();
    if (Object.hasOwn(keys(), name)) throw errors.nameTaken({ name });
    await holders.forget(name);
    const key = newKey();
    const hash = hashOf(key);
    if (stored.isShared) await stored.put(name, { hash, enabled: true, ...limits });
    else await this.#configure(name, { hash, ...limits });
    const created = keys()[name];
    if (created === undefined) throw errors.notInForce();
    const view = await this.#view(name, created);
    if (view.state !== "expired") return reply(201, { ...view, key });
    const warning = `it has already expired (${limits.expiresAt ?? limits.expires}), so it does not work`;
    return reply(201, { ...view, warnings: [warning, ...(view.warnings ?? [])], key });
  }

  /** Changes what is named, and nothing else; `null` removes a limit. */
  async change(call: Call) {
    const { ctx, stored } = this.#options;
    const name = call.params["name"] ?? "";
    const limits = await call.json<Static<typeof changeRequest>>();
    const expected = expectedVersions(call, "GET /keys/:name");
    return this.#exclusively(name, async () => {
      await stored.refresh();
      const known = this.#keyNamed(name);
      const next = changed(known, limits);
      checkLimits(next);
      checkVersion(name, known, expected);
      if (stored.has(name)) await stored.change(name, next);
      else await ctx.use("host").config.change(editsOf(name, known, next));
      return withTag(await this.#view(name, this.#keyNamed(name)));
    });
  }

  /** A new secret for the same holder. The old one works for the overlap. */
  async rotate(call: Call) {
    const { ctx, stored } = this.#options;
    const name = call.params["name"] ?? "";
    const { overlap = DEFAULT_OVERLAP } = await call.json<Static<typeof rotateRequest>>();
    const overlapMs = parseDuration(overlap, "overlap", 0);
    return this.#exclusively(name, async () => {
      await stored.refresh();
      const known = this.#keyNamed(name);
      const key = newKey();
      const until = new Date(ctx.use("store").now() + overlapMs).toISOString();
      const previous = { hash: known.hash, until };
      const next: KeyConfig = { ...known, hash: hashOf(key), previous, id: idOf(known) };
      if (stored.has(name)) await stored.replace(known.hash, name, next);
      else await this.#configure(name, next);
      return { ...(await this.#view(name, this.#keyNamed(name))), key };
    });
  }

  /**
   * Waits for a change of the same key, which would write the key back. What a crash has locked must not keep anybody
   * from revoking a key: after a while the key is revoked all the same. A caller who names a version, such as one who
   * takes the creation of a key back, revokes the key only as that version.
   */
  async revoke(call: Call) {
    const name = call.params["name"] ?? "";
    const isConditional = call.req.headers["if-match"] !== undefined;
    const expected = isConditional ? expectedVersions(call, "GET /keys/:name") : ["*"];
    const isLocked = await this.#waitForLock(name);
    try {
      return await this.#revoke(name, expected);
    } finally {
      if (isLocked) await this.#unlock(name);
    }
  }

  async #revoke(name: string, expected: readonly string[]) {
    const { keys, stored } = this.#options;
    await stored.refresh();
    checkVersion(name, this.#keyNamed(name), expected);
    await stored.remove(name);
    if (Object.hasOwn(keys(), name)) await this.#configure(name, undefined);
    return { name, revoked: true };
  }

  /** Throws `not_found`. */
  #keyNamed(name: string): KeyConfig {
    const keys = this.#options.keys();
    const key = Object.hasOwn(keys, name) ? keys[name] : undefined;
    if (key === undefined) throw errors.unknownKey({ name });
    return key;
  }

  /** Throws `conflict` if another request is changing a key of this name, on any gateway or worker. */
  async #exclusively<T>(name: string, work: () => Promise<T>): Promise<T> {
    if (!(await this.#lock(name))) throw errors.changeUnderWay({ name });
    try {
      return await work();
    } finally {
      await this.#unlock(name);
    }
  }

  /** Returns false where the lock could not be taken in time. */
  async #waitForLock(name: string): Promise<boolean> {
    const deadline = performance.now() + REVOKE_WAIT_MS;
    try {
      while (!(await this.#lock(name))) {
        if (performance.now() > deadline) return false;
        await setTimeout(LOCK_RETRY_MS);
      }
      return true;
    } catch {
      return false; // No request can change a key while the store fails.
    }
  }

  #lock(name: string): Promise<boolean> {
    return this.#options.ctx.use("store").kv.add(LOCKS, name, true, { ttlMs: LOCK_MS });
  }

  async #unlock(name: string): Promise<void> {
    const { kv } = this.#options.ctx.use("store");
    await kv.delete(LOCKS, name).catch(() => {}); // it expires by itself
  }

  #configure(name: string, key: object | undefined): Promise<unknown> {
    return this.#options.ctx.setConfig(["gateway", "keys", name], key);
  }

  #view(name: string, key: KeyConfig): Promise<KeyView> {
    return viewOf(this.#options.ctx, name, key);
  }
}

const withTag = (key: KeyView) => reply(200, key, { etag: versionTag(key.version) });

/** `expires` is the older name of `expiresAt`: a change of one is a change of both. */
function changed(key: KeyConfig, limits: Static<typeof changeRequest>): KeyConfig {
  const members = Object.entries({ ...key, ...limits });
  const next = Object.fromEntries(members.filter(([, value]) => value !== null)) as KeyConfig;
  if ("expiresAt" in limits) delete next.expires;
  return next;
}

/** The difference as edits of the configuration, so that neighbouring keys stay as they are written. */
function editsOf(name: string, before: KeyConfig, after: KeyConfig): ConfigEdit[] {
  const members = new Set([...Object.keys(before), ...Object.keys(after)]) as Set<keyof KeyConfig>;
  const differing = [...members].filter((limit) => before[limit] !== after[limit]);
  return differing.map((limit) => {
    const path = ["gateway", "keys", name, limit];
    return after[limit] === undefined ? { path, remove: true } : { path, value: after[limit] };
  });
}

/** Throws `precondition_failed` where the key is not what the caller has read. */
function checkVersion(name: string, key: KeyConfig, expected: readonly string[]): void {
  if (expected.includes("*") || expected.includes(versionOf(key))) return;
  throw errors.changedMeanwhile({ name }, { details: { version: versionOf(key) } });
}

/** What the schema of a body does not say. Throws `invalid_request_error` with `param`. */
function checkLimits({ expires, expiresAt, allowedIps = [] }: Partial<KeyConfig>): void {
  for (const [param, time] of Object.entries({ expires, expiresAt }))
    if (time !== undefined && Number.isNaN(Date.parse(time)))
      throw errors.notADate({ param }, { param });
  for (const [i, address] of allowedIps.entries()) {
    const problem = refuseNetwork(address);
    if (problem !== undefined)
      throw errors.notANetwork({ address, problem }, { param: `allowedIps[${i}]` });
  }
}
