/** `portico/cron`: schedules, durations, claim loops, and parts that start late. */
export type * from "./types.ts";
export * from "./schedules/book.ts";
export * from "./schedules/claim-loop.ts";
export * from "./schedules/commands.ts";
export * from "./schedules/duration.ts";
export * from "./schedules/late-start.ts";
export * from "./schedules/live.ts";
export * from "./schedules/rounds.ts";
export * from "./schedules/routes.ts";
