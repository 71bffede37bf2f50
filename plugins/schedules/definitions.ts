/** The schemas of schedules and payloads in definitions, and the validation of values from outside. */
import { type Check, compile, type PorticoError, type Static, type TSchema, Type } from "portico";
import { errors } from "./errors.ts";
import { closed, deliverySchema } from "./schema.ts";

/** A schedule in its full form. */
export const ScheduleSchema = Type.Union([
  Type.Object(
    {
      kind: Type.Literal("cron"),
      expr: Type.String({
        minLength: 1,
        maxLength: 200,
        description:
          "A cron expression with 5 fields, or with 6 fields of which the first is the seconds, or a nickname such as @daily.",
      }),
      tz: Type.Optional(
        Type.String({
          description: "The time zone of the expression, an IANA name. Default: cron.timezone.",
        }),
      ),
    },
    closed,
  ),
  Type.Object({ kind: Type.Literal("every"), everyMs: Type.Integer({ minimum: 100 }) }, closed),
  Type.Object(
    {
      kind: Type.Literal("at"),
      at: Type.Union([Type.String(), Type.Integer()], {
        description: "An ISO 8601 date, a period such as 'in 20m', or milliseconds since 1970.",
      }),
      tz: Type.Optional(Type.String()),
    },
    closed,
  ),
]);

/** The action of a job or a poll. */
export const PayloadSchema = Type.Union([
  Type.Object(
    {
      kind: Type.Literal("systemEvent"),
      text: Type.String({ minLength: 1 }),
      mode: Type.Optional(Type.Union([Type.Literal("next-heartbeat"), Type.Literal("now")])),
    },
    closed,
  ),
  Type.Object(
    {
      kind: Type.Literal("agentTurn"),
      message: Type.String({ minLength: 1 }),
      model: Type.Optional(Type.String()),
      channel: Type.Optional(Type.String()),
      session: Type.Optional(Type.String({ minLength: 1 })),
      agent: Type.Optional(Type.String()),
      delivery: Type.Optional(deliverySchema),
    },
    closed,
  ),
  Type.Object(
    {
      kind: Type.Literal("hook"),
      event: Type.String({
        pattern: "^[a-z][a-z0-9-]*:[a-z][a-z0-9-]*$",
        expected: "a name like report:daily",
      }),
      context: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
    },
    closed,
  ),
]);

/** A schedule as users write it: in its full form, or as a text such as `0 9 * * *` or `every 5m`. */
export const GivenScheduleSchema = Type.Union([
  ScheduleSchema,
  Type.String({ minLength: 1, maxLength: 200 }),
]);

/** Validates a schedule from outside. `field` is the name of the member that contains it. Throws 400 with `param`. */
export const readSchedule = createReader(GivenScheduleSchema);
/** Validates a payload from outside. `field` is the name of the member that contains it. Throws 400 with `param`. */
export const readPayload = createReader(PayloadSchema);

/** Compiles validators at their first use, because most starts need none. */
function createReader<S extends TSchema>(schema: S): (value: unknown, field: string) => Static<S> {
  const checks = new Map<string, Check<unknown>>();
  return (value, field) => {
    const check = checks.get(field) ?? compile(Type.Object({ [field]: schema }));
    checks.set(field, check);
    try {
      return (check.parse({ [field]: value }) as Record<string, Static<S>>)[field] as Static<S>;
    } catch (error) {
      const { message, param = field } = error as PorticoError;
      throw errors.invalidField({ problem: message }, { param, cause: error });
    }
  };
}
