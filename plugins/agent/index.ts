/**
 * `portico/agent`: turns, wakes and tools, as webhooks, cron, polls, MCP clients and hooks know them.
 *
 * @example
 * const { turnId } = await ctx.use("agent").startTurn({ message: "Look at the build.", source: "mine", session: "ci" });
 */
export { type Access, decideAccess, ownDirectory } from "./access/access.ts";
export type { Grant, GrantSource } from "./access/grants.ts";
export { newId } from "./ids.ts";
export * from "./tool-call.ts";
export type * from "./types.ts";
