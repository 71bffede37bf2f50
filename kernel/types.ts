/**
 * The contract between the kernel and everything that it loads.
 *
 * `Events`, `Services` and `Contributions` are empty of plugins on purpose: whoever owns an event, a service
 * or a contribution point adds it by declaration merging (`declare module "portico" { interface Events {…} }`).
 */
export type * from "./contract/common.ts";
export type * from "./contract/principal.ts";
export type * from "./contract/events.ts";
export type * from "./contract/services.ts";
export type * from "./http/types.ts";
export type * from "./contract/plugins.ts";
export type * from "./contract/hooks.ts";
export type * from "./contract/workers.ts";
