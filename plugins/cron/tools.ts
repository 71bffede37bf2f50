/** What other plugins get through the service `schedule`. */
import type { PluginContext, ScheduleTools } from "portico";
import { describeSchedule, nextDate, parseSchedule, previewDates } from "./dates.ts";
import { formatDuration, parseDuration } from "./duration.ts";
import { startLoop } from "./loop.ts";
import { declareHookEvent, deliver, emitHook } from "./payload.ts";

export function createScheduleTools(ctx: PluginContext, zone: () => string): ScheduleTools {
  return {
    parse: (schedule, now, param) => parseSchedule(schedule, now, zone(), param),
    next: nextDate,
    preview: previewDates,
    describe: describeSchedule,
    parseDuration,
    formatDuration,
    deliver: (order) => deliver(ctx, order),
    emitHook: (event, context, timeoutMs) => emitHook(ctx, event, context, timeoutMs),
    declareHookEvent: (event) => declareHookEvent(ctx, event),
    loop: startLoop,
  };
}
