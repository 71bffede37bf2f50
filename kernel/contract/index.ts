/**
 * The contract between the kernel and everything that it loads.
 *
 * `Events`, `Services` and `Contributions` intentionally contain nothing of plugins: the owner of an event, a service
 * or a contribution point adds it by declaration merging (`declare module "portico" { interface Events {…} }`).
 */
export type * from "./common.ts";
export type * from "./principal.ts";
export type * from "./events.ts";
export type * from "./services.ts";
export type * from "./requests.ts";
export type * from "./routes.ts";
export type * from "./servers.ts";
export type * from "./changes.ts";
export type * from "./modules.ts";
export type * from "./plugins.ts";
export type * from "./hooks.ts";
export type * from "./workers.ts";
