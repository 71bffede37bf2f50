/**
 * `portico/egress`: the policy on the hosts that the gateway may reach, a guarded fetch, and a filtering proxy for
 * browsers.
 */
export { createDecompressor } from "./decompressor.ts";
export { guardedFetch } from "./fetch.ts";
export { createOwnerGuard } from "./owner-guard.ts";
export { createFetch } from "./platform-fetch.ts";
export { createGuard } from "./policy.ts";
export { parseProxy, proxyFor, type ProxyEnvironment } from "./proxies/environment-proxy.ts";
export { retryAfterMs } from "./retry-after.ts";
export { startEgressProxy } from "./proxies/proxy.ts";
export { dialProxy, tunnel } from "./proxies/upstream-proxy.ts";
export { writtenOrigins } from "./written-origin.ts";
export type * from "./types.ts";
