/** Where the store is, and how long things are kept. */
import { type Static, Type } from "portico";

/** At most a hundred years: what is older than that is before all time that a store knows. */
const days = (fallback: number, description: string) =>
  Type.Number({ default: fallback, minimum: 0, maximum: 36_525, description });

const retentionSchema = Type.Object({
  itemsDays: days(14, "Turns and events that are done or cancelled; 0 keeps them."),
  deadDays: days(90, "Turns and events that are dead; 0 keeps them."),
  deliveriesDays: days(30, "The webhooks' delivery log; 0 keeps it."),
  sessionsDays: days(30, "Sessions that nobody named, after their last use; 0 keeps them."),
  usageDays: days(400, "Usage of models; 0 keeps it."),
});

export const storeSchema = Type.Object(
  {
    url: Type.Optional(
      Type.String({
        pattern: "^((file:)?/|postgres(ql)?://)",
        expected:
          "file:<absolute path>, an absolute path, or postgres://user:password@host:port/database",
        description: "file:PATH or an absolute path; by default a file under <home>/state.",
        atNextStart: true,
      }),
    ),
    shared: Type.Optional(
      Type.Boolean({
        description:
          "Whether other gateways use the same store: limits then count over all of them. Default: true for PostgreSQL, false for a file.",
        atNextStart: true,
      }),
    ),
    retention: retentionSchema,
  },
  { description: "Where queue, schedules, sessions and hook data lie." },
);

export type Retention = Static<typeof retentionSchema>;
