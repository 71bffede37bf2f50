/** What other plugins get through the service `schedule`. */
import {
  compile,
  type PluginContext,
  type PorticoError,
  type Static,
  type TSchema,
  Type,
} from "portico";
import { formatDuration, parseDuration, type ScheduleTools } from "portico/schedules";
import { describeSchedule, nextDate, parseSchedule, previewDates } from "portico/schedules";
import { startDueTimer } from "portico/schedules";
import { errors } from "./errors.ts";
import { checkPayload, declareHookEvent, deliver, emitHook } from "./firing/payload.ts";
import { Payload, Schedule } from "./schema.ts";

/** A check whose `param` names the field that the value stands in. */
function reader<S extends TSchema>(schema: S) {
  const check = compile(Type.Object({ value: schema }));
  return (value: unknown, param: string) => {
    try {
      return (check.parse({ value }) as unknown as { value: Static<S> }).value;
    } catch (error) {
      const { message, param: at = "value" } = error as PorticoError;
      throw errors.invalidField(
        { problem: message.replace(/\bvalue\b/, param) },
        { param: at.replace(/^value/, param), cause: error },
      );
    }
  };
}

export function createScheduleTools(ctx: PluginContext, zone: () => string): ScheduleTools {
  const readSchedule = reader(
    Type.Union([Schedule, Type.String({ minLength: 1, maxLength: 200 })]),
  );
  return {
    readSchedule: (value, now, param) =>
      parseSchedule(readSchedule(value, param), now, zone(), param),
    readPayload: reader(Payload),
    parse: (schedule, now, param) => parseSchedule(schedule, now, zone(), param),
    next: nextDate,
    preview: previewDates,
    describe: describeSchedule,
    parseDuration,
    formatDuration,
    deliver: (order) => deliver(ctx, order),
    checkPayload: (payload) => checkPayload(ctx, payload),
    emitHook: (event, context, about) => emitHook(ctx, event, context, about),
    declareHookEvent: (event) => declareHookEvent(ctx, event),
    loop: startDueTimer,
  };
}
