/**
 * `portico/schedules`: for plugins that do things at their time.
 *
 * `createScheduleEntries`, `openLiveEntries`, `mountScheduleRoutes` and `scheduleCommands` make a kind of schedule (as
 * jobs and polls are) with its configuration, routes and command line; `createClaimLoop` works off the store's queue;
 * `startDueTimer` wakes at due times; `startLate` keeps what is not needed at once out of the gateway's start;
 * `createRounds` repeats something; `parseDuration` reads `1h30m`; `parseSchedule` and `nextDate` know dates.
 * The service `schedule` checks and delivers payloads.
 */
export type * from "./types.ts";
export * from "./claim-loop.ts";
export * from "./commands.ts";
export * from "./creators.ts";
export * from "./cron-syntax.ts";
export * from "./dates.ts";
export * from "./definitions.ts";
export * from "./describe-cron.ts";
export * from "./due-loop.ts";
export * from "./due-timer.ts";
export * from "./duration.ts";
export * from "./entries.ts";
export * from "./late-start.ts";
export * from "./live-entries.ts";
export * from "./masks.ts";
export * from "./notices.ts";
export * from "./rounds.ts";
export * from "./routes.ts";
export { describeScheduleRoutes } from "./routes-schema.ts";
export * from "./schema.ts";
export * from "./time-text.ts";
export * from "./worker-name.ts";
