/** What one key may do, and whose key it is. */
import { createHash, randomBytes } from "node:crypto";
import { type Authenticator, type Client, type Networks, parseNetworks } from "portico";
import { errors } from "./errors.ts";
import type { KeyConfig, KeysConfig } from "./schema.ts";

const DAY_MS = 86_400_000;
/** What a 401 asks for. */
const CHALLENGE = { headers: { "www-authenticate": 'Bearer realm="portico"' } };

export interface Grant extends Omit<KeyConfig, "hash" | "previous" | "id"> {
  readonly name: string;
}
export type State = "active" | "disabled" | "expired";

/** A client that another plugin's authenticator recognised has none of ours. */
const ours = new WeakSet<object>();

export function grantOf(client: Client): Grant | undefined {
  const { grant } = client;
  return typeof grant === "object" && grant !== null && ours.has(grant)
    ? (grant as Grant)
    : undefined;
}

export function stateOf(
  { enabled, expires, expiresAt }: Pick<Grant, "enabled" | "expires" | "expiresAt">,
  now: number,
): State {
  if (!enabled) return "disabled";
  const isOver = [expires, expiresAt].some((end) => end !== undefined && now >= endOf(end));
  return isOver ? "expired" : "active";
}

/** A time that cannot be read is over. */
export function endOf(expires: string): number {
  const time = Date.parse(expires);
  if (Number.isNaN(time)) return 0;
  return expires.length === 10 ? time + DAY_MS : time;
}

export function hashOf(key: string): string {
  return `sha256:${createHash("sha256").update(key).digest("hex")}`;
}

/** Names a key for good, also after a rotation, and reveals nothing about its hash. */
export function idOf({ hash, id }: Pick<KeyConfig, "hash" | "id">): string {
  if (id !== undefined) return id;
  return createHash("sha256").update(`id of ${hash}`).digest("hex").slice(0, 16);
}

/** Names the present state of a key, and reveals nothing about its hash. */
export function versionOf(key: KeyConfig): string {
  return createHash("sha256").update(JSON.stringify(key)).digest("hex").slice(0, 16);
}

const MARK = "pk_";

export function newKey(): string {
  return MARK + randomBytes(32).toString("base64url");
}

/** Whether `newKey` may have made it. */
export const isKey = (token: string): boolean => token.startsWith(MARK);

/** One secret of a key. */
interface Secret {
  client: Client;
  /** Absent: for as long as the key works. */
  until?: number;
  allowed: Networks | undefined;
}

/** Looks keys up by their hashes, so that the time of a look-up reveals nothing about other keys. */
export function createAuthenticator(
  keys: KeysConfig,
  now: () => number,
): Authenticator & { clientOf(name: string): Client | undefined } {
  const secrets = new Map<string, Secret>();
  for (const [name, key] of Object.entries(keys))
    for (const [hash, secret] of secretsOf(name, key)) secrets.set(hash, secret);
  return {
    name: "client keys",
    /** Of a key that works, for what runs on its account while no caller waits. */
    clientOf(name) {
      const client = [...secrets.values()].find((secret) => secret.client.key === name)?.client;
      const isActive = client && stateOf(client.grant as Grant, now()) === "active";
      return isActive ? client : undefined;
    },
    authenticate(token, _req, { address }) {
      if (secrets.size === 0) return undefined;
      const secret = secrets.get(hashOf(token));
      if (secret === undefined) return undefined;
      const { client, until, allowed } = secret;
      if (until !== undefined && now() >= until) throw errors.rotatedAway(CHALLENGE);
      const state = stateOf(client.grant as Grant, now());
      if (state === "expired") throw errors.expired(CHALLENGE);
      if (state === "disabled") throw errors.disabled(CHALLENGE);
      if (allowed === undefined || allowed.contains(address)) return client;
      throw errors.addressNotAllowed();
    },
  };
}

function* secretsOf(name: string, key: KeyConfig): Generator<[hash: string, Secret]> {
  const { hash, previous, id: _, ...rest } = key;
  const grant: Grant = Object.freeze({ name, ...rest });
  ours.add(grant);
  const client: Client = Object.freeze({ kind: "key", key: name, keyId: idOf(key), grant });
  const allowed = rest.allowedIps && parseNetworks(rest.allowedIps);
  yield [hash, { client, allowed }];
  if (previous !== undefined)
    yield [previous.hash, { client, allowed, until: endOf(previous.until) }];
}
