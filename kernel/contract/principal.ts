/** On whose behalf something happens. */

/** A kind of principal that a tool can be opened to. The owner may use every tool. */
export type PrincipalKind = "key" | "webhook" | "poll" | "user";

/**
 * Whoever caused a request, turn, job or delivery. What these create inherits it, and no content changes it.
 *
 * - `owner`: whoever holds the gateway's own token, and what the owner has planned;
 * - `key:<name>`: a client key;
 * - `webhook:<name>`, `poll:<name>`: an entry of the configuration that lets strangers' words in;
 * - `user:<name>`: reserved;
 * - `outside`: nobody whom a credential names. It has no tools.
 */
export type Principal = "owner" | "outside" | `${PrincipalKind}:${string}`;
