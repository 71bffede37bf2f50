/** Writes and reads principals, and finds that of a client. */
import type { Principal, PrincipalKind } from "../contract/principal.ts";
import { currentOwner } from "./owner.ts";
import type { Client } from "../contract/index.ts";

const KINDS: readonly string[] = ["key", "webhook", "poll", "user"] satisfies PrincipalKind[];

/**
 * Returns the principal of that kind and name. Colons in the name are escaped, so that no principal is a prefix of
 * another one's sessions (`key:a` of `key:a:b`).
 */
export function principalNamed(kind: PrincipalKind, name: string): Principal {
  return `${kind}:${name.replace(/[%:]/g, encodeURIComponent)}`;
}

/** Returns the principal on whose behalf an authenticated request is served. */
export function principalOf(client: Client): Principal {
  if (client.kind === "owner") return "owner";
  return client.kind === "key" ? principalNamed("key", client.key ?? "") : "outside";
}

/** Returns the kind and the name of a principal; undefined for `owner` and `outside`, which have none. */
export function partsOf(principal: Principal): { kind: PrincipalKind; name: string } | undefined {
  const colon = principal.indexOf(":");
  if (colon < 0) return undefined;
  const name = decodeURIComponent(principal.slice(colon + 1));
  return { kind: principal.slice(0, colon) as PrincipalKind, name };
}

/** Matches a name as `principalNamed` writes it. */
const WRITTEN_NAME = /^(?:[^%:]|%25|%3A)+$/;

/** Returns the value if it is a principal, otherwise undefined. */
export function readPrincipal(value: unknown): Principal | undefined {
  if (value === "owner" || value === "outside") return value;
  if (typeof value !== "string") return undefined;
  const colon = value.indexOf(":");
  const isKnown =
    KINDS.includes(value.slice(0, colon)) && WRITTEN_NAME.test(value.slice(colon + 1));
  return isKnown ? (value as Principal) : undefined;
}

/**
 * Returns the principal of the call that a user's plugin or hook serves at this moment. If it is unknown whom the
 * running code serves, this is `outside`, which may do nothing.
 */
export function currentPrincipal(): Principal {
  return currentOwner()?.principal ?? "outside";
}
