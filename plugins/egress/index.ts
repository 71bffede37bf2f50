/** `portico/egress`: whom the gateway may reach: the policy, a guarded fetch, and a filtering proxy for browsers. */
export { guardedFetch } from "./fetch.ts";
export { createGuard } from "./policy.ts";
export { parseProxy, proxyFor, type ProxyEnvironment } from "./environment-proxy.ts";
export { startEgressProxy } from "./proxy.ts";
export { dialProxy, tunnel } from "./upstream-proxy.ts";
export { writtenOrigins } from "./written-origin.ts";
export type * from "./types.ts";
