/** `/keys`: makes, lists, changes, rotates and revokes. */
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

/** Names of keys that are being made, in the store; what a crash leaves there is forgotten after a while. */
const MAKING = "keys.making";
const MAKING_MS = 30_000;

export function mountKeys(
  ctx: PluginContext,
  keys: () => KeysConfig,
  stored: StoredKeys,
  holders: Holders,
): void {
  const now = () => ctx.use("store").now();
  const configure = (name: string, key: object | undefined) =>
    ctx.setConfig(["gateway", "keys", name], key);

  const view = (name: string, key: KeyConfig) => viewOf(ctx, name, key);

  /** Of several who make a key of one name at once, on whichever gateway or worker, one gets it. */
  async function make(call: Call) {
    const { name, ...limits } = await call.json<Static<typeof createRequest>>();
    checkLimits(limits);
    return alone(name, () => makeAlone(name, limits));
  }

  async function alone<T>(name: string, work: () => Promise<T>): Promise<T> {
    const { kv } = ctx.use("store");
    if (!(await kv.add(MAKING, name, true, { ttlMs: MAKING_MS }))) throw errors.nameTaken({ name });
    try {
      return await work();
    } finally {
      await kv.delete(MAKING, name).catch(() => {}); // it goes by itself
    }
  }

  /** A new secret for the same holder; the old one works on for the overlap. */
  async function rotate(call: Call) {
    const name = call.params["name"] ?? "";
    const { overlap = DEFAULT_OVERLAP } = await call.json<Static<typeof rotateRequest>>();
    const overlapMs = parseDuration(overlap, "overlap", 0);
    return alone(name, async () => {
      await stored.refresh();
      const known = keyNamed(name);
      const key = newKey();
      const until = new Date(now() + overlapMs).toISOString();
      const next: KeyConfig = {
        ...known,
        hash: hashOf(key),
        previous: { hash: known.hash, until },
        id: idOf(known),
      };
      if (stored.has(name)) await stored.replace(known.hash, name, next);
      else await configure(name, next);
      return { ...(await view(name, keyNamed(name))), key };
    });
  }

  /** Changes what is named, and nothing else; `null` removes a limit. */
  async function change(call: Call) {
    const name = call.params["name"] ?? "";
    const limits = await call.json<Static<typeof changeRequest>>();
    const expected = expectedVersions(call, "GET /keys/:name");
    return alone(name, async () => {
      await stored.refresh();
      const known = keyNamed(name);
      const next = changed(known, limits);
      checkLimits(next);
      checkVersion(name, known, expected);
      if (stored.has(name)) await stored.change(name, next);
      else await ctx.use("host").config.change(editsOf(name, known, next));
      return withTag(await view(name, keyNamed(name)));
    });
  }

  /** Throws `not_found`. */
  function keyNamed(name: string): KeyConfig {
    const known = Object.hasOwn(keys(), name) ? keys()[name] : undefined;
    if (known !== undefined) return known;
    throw errors.unknownKey({ name });
  }

  async function makeAlone(name: string, limits: Omit<KeyConfig, "hash" | "enabled">) {
    await stored.refresh();
    if (Object.hasOwn(keys(), name)) throw errors.nameTaken({ name });
    await holders.forget(name);
    const key = newKey();
    const hash = hashOf(key);
    if (stored.isShared) await stored.put(name, { hash, enabled: true, ...limits });
    else await configure(name, { hash, ...limits });
    const made = keys()[name];
    if (made === undefined) throw errors.notInForce();
    const shown = await view(name, made);
    if (shown.state !== "expired") return reply(201, { ...shown, key });
    const over = `it has expired already (${limits.expiresAt ?? limits.expires}), and opens nothing`;
    return reply(201, { ...shown, warnings: [over, ...(shown.warnings ?? [])], key });
  }

  async function revoke({ params }: Call) {
    const name = params["name"] ?? "";
    await stored.refresh();
    keyNamed(name);
    await stored.remove(name);
    if (Object.hasOwn(keys(), name)) await configure(name, undefined);
    return { name, revoked: true };
  }

  ctx.route("GET", "/keys", keyRoutes.list, async () => {
    await stored.refresh().catch(() => {}); // without the store: those that are known
    return {
      keys: await Promise.all(Object.entries(keys()).map(([name, key]) => view(name, key))),
    };
  });
  ctx.route("GET", "/keys/:name", keyRoutes.show, async ({ params }) => {
    await stored.refresh().catch(() => {});
    const name = params["name"] ?? "";
    return withTag(await view(name, keyNamed(name)));
  });
  ctx.route("POST", "/keys", keyRoutes.make, make);
  ctx.route("PATCH", "/keys/:name", keyRoutes.change, change);
  ctx.route("POST", "/keys/:name/rotate", keyRoutes.rotate, rotate);
  ctx.route("DELETE", "/keys/:name", keyRoutes.revoke, revoke);
}

const withTag = (key: KeyView) => reply(200, key, { etag: versionTag(key.version) });

/** `expires` is the older name of `expiresAt`: a change of one is a change of both. */
function changed(key: KeyConfig, limits: Static<typeof changeRequest>): KeyConfig {
  const members = Object.entries({ ...key, ...limits });
  const next = Object.fromEntries(members.filter(([, value]) => value !== null)) as KeyConfig;
  if ("expiresAt" in limits) delete next.expires;
  return next;
}

/** The difference as edits of the configuration, so that what stands beside it stays as it is written. */
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
