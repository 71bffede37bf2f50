/**
 * `portico/schedules`: tools for plugins that act at scheduled times.
 *
 * `createScheduleEntries`, `openLiveEntries`, `mountScheduleRoutes` and `scheduleCommands` implement a kind of schedule
 * (such as jobs and polls) with its configuration, routes and command line; `createClaimLoop` processes the store's queue;
 * `startDueTimer` wakes at due times; `startLate` starts a part of a plugin after the gateway's own start; `createRounds`
 * repeats work; `parseDuration` parses `1h30m`; `parseSchedule` and `nextDate` compute dates. The service `schedule`
 * validates and delivers payloads.
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
