/** Recognises clients by their keys, and holds what each key may do. */
import { createHash, randomBytes } from "node:crypto";
import { type Authenticator, type Client, type Networks, parseNetworks } from "portico";
import { errors } from "./errors.ts";
import type { KeyConfig, KeysConfig } from "./schema.ts";

const DAY_MS = 86_400_000;
/** The header of a 401 response. */
const CHALLENGE = { headers: { "www-authenticate": 'Bearer realm="portico"' } };

export interface Grant extends Omit<KeyConfig, "hash" | "previous" | "id"> {
  readonly name: string;
}
export type State = "active" | "disabled" | "expired";

/** The grants of this plugin. A client that another plugin's authenticator recognised has none of them. */
const ownGrants = new WeakSet<object>();

export function grantOf(client: Client): Grant | undefined {
  const { grant } = client;
  return typeof grant === "object" && grant !== null && ownGrants.has(grant)
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

/** Returns the end of a time or a whole day in milliseconds; 0, so that it is past, for an invalid time. */
export function endOf(expires: string): number {
  const time = Date.parse(expires);
  if (Number.isNaN(time)) return 0;
  return expires.length === 10 ? time + DAY_MS : time;
}

export function hashOf(key: string): string {
  return `sha256:${createHash("sha256").update(key).digest("hex")}`;
}

/** Returns the id of a key, which a rotation does not change and which reveals nothing about its hash. */
export function idOf({ hash, id }: Pick<KeyConfig, "hash" | "id">): string {
  if (id !== undefined) return id;
  return createHash("sha256").update(`id of ${hash}`).digest("hex").slice(0, 16);
}

/** Returns a text that identifies the current state of a key and reveals nothing about its hash. */
export function versionOf(key: KeyConfig): string {
  return createHash("sha256").update(JSON.stringify(key)).digest("hex").slice(0, 16);
}

const PREFIX = "pk_";

export function createSecret(): string {
  return PREFIX + randomBytes(32).toString("base64url");
}

/** Returns true if `createSecret` may have created the token. */
export const isKey = (token: string): boolean => token.startsWith(PREFIX);

/** One secret of a key. */
interface Secret {
  client: Client;
  /** The time until which it works; absent for the current secret. */
  until?: number;
  allowed: Networks | undefined;
}

/** Creates the authenticator. It looks keys up by their hashes, so that its timing reveals nothing about other keys. */
export function createAuthenticator(
  keys: KeysConfig,
  now: () => number,
): Authenticator & { clientOf(name: string): Client | undefined } {
  const secrets = new Map<string, Secret>();
  for (const [name, key] of Object.entries(keys))
    for (const [hash, secret] of secretsOf(name, key)) secrets.set(hash, secret);
  return {
    name: "client keys",
    /** Returns the client of an active key, for work on its account without a request. */
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
  ownGrants.add(grant);
  const client: Client = Object.freeze({ kind: "key", key: name, keyId: idOf(key), grant });
  const allowed = rest.allowedIps && parseNetworks(rest.allowedIps);
  yield [hash, { client, allowed }];
  if (previous !== undefined)
    yield [previous.hash, { client, allowed, until: endOf(previous.until) }];
}
