/** `portico/egress`: whom the gateway may reach: the policy, a guarded fetch, and a filtering proxy for browsers. */
export * from "./fetch.ts";
export * from "./policy.ts";
export * from "./proxy.ts";
export type * from "./types.ts";
