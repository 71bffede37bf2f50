/**
 * `portico/cron`: the events of cron jobs. The common parts of jobs and polls are in `portico/schedules`, which this face
 * still re-exports for plugins that were written before the split.
 */
export type * from "./types.ts";
export * from "portico/schedules";
