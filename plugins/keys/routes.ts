/** The routes `/keys`, which create, list, change, rotate and revoke keys. */
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
import { hashOf, idOf, createSecret, versionOf } from "./grant.ts";
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

/** The namespace of the locks on names of keys in the store. Locks that a crash leaves there expire. */
const LOCKS = "keys.making";
const LOCK_MS = 30_000;
/** The time that a revocation waits for a change of the same key. */
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
    // If the store fails, the keys that are known already are shown.
    await this.#options.stored.refresh().catch(() => {});
    const keys = Object.entries(this.#options.keys());
    return { keys: await Promise.all(keys.map(([name, key]) => this.#view(name, key))) };
  }

  async show({ params }: Call) {
    await this.#options.stored.refresh().catch(() => {});
    const name = params["name"] ?? "";
    return withTag(await this.#view(name, this.#keyNamed(name)));
  }

  /** Creates a key. If several callers create the same name at once, on any gateway or worker, only one succeeds. */
  async create(call: Call) {
    const { name, ...limits } = await call.json<Static<typeof createRequest>>();
    checkLimits(limits);
    return this.#withLock(name, () => this.#create(name, limits));
  }

  async #create(name: string, limits: Omit<KeyConfig, "hash" | "enabled">) {
    const { keys, stored, holders } = this.#options;
    await stored.refresh();
    if (Object.hasOwn(keys(), name)) throw errors.nameTaken({ name });
    await holders.forget(name);
    const key = createSecret();
    const hash = hashOf(key);
    if (stored.isShared) await stored.put(name, { hash, enabled: true, ...limits });
    else await this.#configure(name, { hash, ...limits });
    const created = keys()[name];
    if (created === undefined) throw errors.notInForce();
    const view = await this.#view(name, created);
    if (view.state !== "expired") return reply(201, { ...view, key });
    const warning = `the key has already expired (${limits.expiresAt ?? limits.expires}), so it does not work`;
    return reply(201, { ...view, warnings: [warning, ...(view.warnings ?? [])], key });
  }

  /** Changes only the named members; `null` removes a limit. */
  async change(call: Call) {
    const { ctx, stored } = this.#options;
    const name = call.params["name"] ?? "";
    const limits = await call.json<Static<typeof changeRequest>>();
    const expected = expectedVersions(call, "GET /keys/:name");
    return this.#withLock(name, async () => {
      await stored.refresh();
      const current = this.#keyNamed(name);
      const next = applyChange(current, limits);
      checkLimits(next);
      checkVersion(name, current, expected);
      if (stored.has(name)) await stored.change(name, next);
      else await ctx.use("host").config.change(editsOf(name, current, next));
      return withTag(await this.#view(name, this.#keyNamed(name)));
    });
  }

  /** Gives the same holder a new secret. The old one keeps working for the overlap. */
  async rotate(call: Call) {
    const { ctx, stored } = this.#options;
    const name = call.params["name"] ?? "";
    const { overlap = DEFAULT_OVERLAP } = await call.json<Static<typeof rotateRequest>>();
    const overlapMs = parseDuration(overlap, "overlap", 0);
    return this.#withLock(name, async () => {
      await stored.refresh();
      const current = this.#keyNamed(name);
      const key = createSecret();
      const until = new Date(ctx.use("store").now() + overlapMs).toISOString();
      const previous = { hash: current.hash, until };
      const next: KeyConfig = { ...current, hash: hashOf(key), previous, id: idOf(current) };
      if (stored.has(name)) await stored.replace(current.hash, name, next);
      else await this.#configure(name, next);
      return { ...(await this.#view(name, this.#keyNamed(name))), key };
    });
  }

  /**
   * Revokes a key. It waits for a change of the same key, which would write the key back, but not for long, since a crash may
   * have left the lock. A caller that names a version, for example to undo a creation, revokes the key only at that version.
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

  /** Returns a key. Throws `not_found`. */
  #keyNamed(name: string): KeyConfig {
    const keys = this.#options.keys();
    const key = Object.hasOwn(keys, name) ? keys[name] : undefined;
    if (key === undefined) throw errors.unknownKey({ name });
    return key;
  }

  /** Runs the work under the lock of a name. Throws `conflict` if another request holds it, on any gateway or worker. */
  async #withLock<T>(name: string, work: () => Promise<T>): Promise<T> {
    if (!(await this.#lock(name))) throw errors.changeUnderWay({ name });
    try {
      return await work();
    } finally {
      await this.#unlock(name);
    }
  }

  /** Waits for the lock of a name. Returns false if it was not free in time. */
  async #waitForLock(name: string): Promise<boolean> {
    const deadline = performance.now() + REVOKE_WAIT_MS;
    try {
      while (!(await this.#lock(name))) {
        if (performance.now() > deadline) return false;
        await setTimeout(LOCK_RETRY_MS);
      }
      return true;
    } catch {
      return false; // While the store fails, no request can change a key.
    }
  }

  #lock(name: string): Promise<boolean> {
    return this.#options.ctx.use("store").kv.add(LOCKS, name, true, { ttlMs: LOCK_MS });
  }

  async #unlock(name: string): Promise<void> {
    const { kv } = this.#options.ctx.use("store");
    await kv.delete(LOCKS, name).catch(() => {}); // The lock expires by itself.
  }

  #configure(name: string, key: object | undefined): Promise<unknown> {
    return this.#options.ctx.setConfig(["gateway", "keys", name], key);
  }

  #view(name: string, key: KeyConfig): Promise<KeyView> {
    return viewOf(this.#options.ctx, name, key);
  }
}

const withTag = (key: KeyView) => reply(200, key, { etag: versionTag(key.version) });

/** Applies a change. A new `expiresAt` also removes `expires`, its older name. */
function applyChange(key: KeyConfig, limits: Static<typeof changeRequest>): KeyConfig {
  const members = Object.entries({ ...key, ...limits });
  const next = Object.fromEntries(members.filter(([, value]) => value !== null)) as KeyConfig;
  if ("expiresAt" in limits) delete next.expires;
  return next;
}

/** Returns the difference as edits of the configuration, so that the text of other keys stays unchanged. */
function editsOf(name: string, before: KeyConfig, after: KeyConfig): ConfigEdit[] {
  const members = new Set([...Object.keys(before), ...Object.keys(after)]) as Set<keyof KeyConfig>;
  const changedMembers = [...members].filter((limit) => before[limit] !== after[limit]);
  return changedMembers.map((limit) => {
    const path = ["gateway", "keys", name, limit];
    return after[limit] === undefined ? { path, remove: true } : { path, value: after[limit] };
  });
}

/** Throws `precondition_failed` if the key has changed since the caller read it. */
function checkVersion(name: string, key: KeyConfig, expected: readonly string[]): void {
  if (expected.includes("*") || expected.includes(versionOf(key))) return;
  throw errors.changedMeanwhile({ name }, { details: { version: versionOf(key) } });
}

/** Checks what the schema cannot express. Throws `invalid_request_error` with `param`. */
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
