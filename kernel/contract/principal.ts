/** The principal on whose behalf something happens. */

/** The kinds of principals that a tool can name. The owner may use every tool. */
export type PrincipalKind = "key" | "webhook" | "poll" | "user";

/**
 * The one who caused a request, turn, job or delivery. What these create inherits it, and no content changes it.
 *
 * - `owner`: the holder of the gateway's own token, and the owner's planned work;
 * - `key:<name>`: a client key;
 * - `webhook:<name>`, `poll:<name>`: an entry of the configuration that lets strangers' words in;
 * - `user:<name>`: reserved;
 * - `outside`: nobody whom a credential names. It has no tools.
 */
export type Principal = "owner" | "outside" | `${PrincipalKind}:${string}`;
