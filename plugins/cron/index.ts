/**
 * `portico/cron`: for plugins that do things at their time.
 *
 * `createScheduleEntries`, `openLiveEntries`, `mountScheduleRoutes` and `scheduleCommands` make a kind of schedule (as jobs
 * and polls are) with its configuration, routes and command line; `createClaimLoop` works off the store's queue;
 * `startLate` keeps what is not needed at once out of the gateway's start; `createRounds` repeats something;
 * `parseDuration` reads `1h30m`. The service `schedule` knows dates and payloads.
 */
export type * from "./types.ts";
export * from "./schedules/entries.ts";
export * from "./schedules/claim-loop.ts";
export * from "./schedules/due-loop.ts";
export * from "./schedules/commands.ts";
export * from "./schedules/duration.ts";
export * from "./schedules/late-start.ts";
export * from "./schedules/live-entries.ts";
export * from "./schedules/notices.ts";
export * from "./schedules/masks.ts";
export * from "./schedules/rounds.ts";
export * from "./schedules/routes.ts";
export * from "./schedules/schema.ts";
export * from "./schedules/worker-name.ts";
export * from "./schedules/time-text.ts";
