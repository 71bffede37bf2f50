/**
 * `portico/agent`: the interface to turns, wakes and tools for webhooks, cron, polls, MCP clients and hooks.
 *
 * @example
 * const { turnId } = await ctx.use("agent").startTurn({ message: "Look at the build.", source: "mine", session: "ci" });
 */
export { type Access, decideAccess, ownDirectory } from "./access/access.ts";
export type { Grant, GrantSource } from "./access/grants.ts";
export { newId } from "./ids.ts";
export * from "./tool-call.ts";
export type * from "./types.ts";
