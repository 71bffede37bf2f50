/** What one key may do, and whose key it is. */
import { createHash, randomBytes } from "node:crypto";
import { type Authenticator, type Client, PorticoError } from "portico";
import type { KeyConfig, KeysConfig } from "./schema.ts";

const DAY_MS = 86_400_000;

export interface Grant extends Omit<KeyConfig, "hash"> {
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
  { enabled, expires }: Pick<Grant, "enabled" | "expires">,
  now: number,
): State {
  if (!enabled) return "disabled";
  return expires !== undefined && now >= endOf(expires) ? "expired" : "active";
}

/** A time that cannot be read is over. */
function endOf(expires: string): number {
  const time = Date.parse(expires);
  if (Number.isNaN(time)) return 0;
  return expires.length === 10 ? time + DAY_MS : time;
}

export function hashOf(key: string): string {
  return `sha256:${createHash("sha256").update(key).digest("hex")}`;
}

/** Names a key for good, and tells nothing of its hash. */
function idOf(hash: string): string {
  return createHash("sha256").update(`id of ${hash}`).digest("hex").slice(0, 16);
}

const MARK = "pk_";

export function newKey(): string {
  return MARK + randomBytes(32).toString("base64url");
}

/** Whether `newKey` may have made it. */
export const isKey = (token: string): boolean => token.startsWith(MARK);

/** Knows keys by their hashes: looking one up tells nothing about another, however long it takes. */
export function createAuthenticator(
  keys: KeysConfig,
  now: () => number,
): Authenticator & { clientOf(name: string): Client | undefined } {
  const clients = new Map<string, Client>();
  for (const [name, { hash, ...rest }] of Object.entries(keys)) {
    const grant: Grant = Object.freeze({ name, ...rest });
    ours.add(grant);
    clients.set(hash, Object.freeze({ kind: "key", key: name, keyId: idOf(hash), grant }));
  }
  return {
    name: "client keys",
    /** Of a key that works, for what runs on its account while no caller waits. */
    clientOf(name) {
      const client = [...clients.values()].find(({ key }) => key === name);
      const isActive = client && stateOf(client.grant as Grant, now()) === "active";
      return isActive ? client : undefined;
    },
    authenticate(token) {
      if (clients.size === 0) return undefined;
      const client = clients.get(hashOf(token));
      if (client === undefined) return undefined;
      const state = stateOf(client.grant as Grant, now());
      if (state === "active") return client;
      throw new PorticoError(
        "unauthorized",
        state === "expired"
          ? "This key has expired. Ask for a new one."
          : "This key is switched off.",
        { type: "authentication_error", headers: { "www-authenticate": 'Bearer realm="portico"' } },
      );
    },
  };
}
