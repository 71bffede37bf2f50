/** `portico/agent`: turns, wakes and tools, as webhooks, cron, polls, MCP clients and hooks know them. */
export * from "./tool-call.ts";
export type * from "./types.ts";
