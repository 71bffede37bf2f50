/** The tools that the service `schedule` provides to other plugins. */
import type { PluginContext } from "portico";
import {
  describeSchedule,
  formatDuration,
  nextDate,
  parseDuration,
  parseSchedule,
  previewDates,
  readPayload,
  readSchedule,
  type ScheduleTools,
  startDueTimer,
} from "portico/schedules";
import {
  checkPayload,
  checkPayloadModel,
  declareHookEvent,
  deliver,
  emitHook,
} from "./firing/payload.ts";

export function createScheduleTools(ctx: PluginContext, zone: () => string): ScheduleTools {
  return {
    readSchedule: (value, now, param) =>
      parseSchedule(readSchedule(value, param), now, zone(), param),
    readPayload,
    parse: (schedule, now, param) => parseSchedule(schedule, now, zone(), param),
    next: nextDate,
    preview: previewDates,
    describe: describeSchedule,
    parseDuration,
    formatDuration,
    deliver: (order) => deliver(ctx, order),
    checkPayload: (payload) => checkPayload(ctx, payload),
    checkPayloadModel: (payload, principal) => checkPayloadModel(ctx, payload, principal),
    emitHook: (event, context, about) => emitHook(ctx, event, context, about),
    declareHookEvent: (event) => declareHookEvent(ctx, event),
    loop: startDueTimer,
  };
}
