/**
 * `portico/cron`: the events of cron jobs. What jobs and polls have in common is in `portico/schedules`, which this face
 * goes on re-exporting for plugins that were written before.
 */
export type * from "./types.ts";
export * from "portico/schedules";
