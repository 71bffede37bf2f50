/** The schema of `POST /cron/preview`. */
import { type RouteOptions, Type } from "portico";
import { jsonResponse, Time } from "portico/openapi";
import { ScheduleSchema } from "portico/schedules";
import { previewRequest } from "./schema.ts";

export const previewRoute = {
  access: "gateway",
  summary: "Compute the next run times of a schedule without saving it",
  body: previewRequest,
  response: jsonResponse(
    Type.Object({
      schedule: ScheduleSchema,
      description: Type.Optional(
        Type.String({ description: "The meaning of a cron expression in words" }),
      ),
      timezone: Type.Optional(Type.String({ description: "The time zone of the expression" })),
      dates: Type.Array(Time),
    }),
  ),
} as const satisfies RouteOptions;
