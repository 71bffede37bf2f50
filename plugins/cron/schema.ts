import { type Static, Type } from "portico";
import { closed, deliverySchema, entryFields, entryName, zoneSchema } from "portico/schedules";

export const Schedule = Type.Union([
  Type.Object(
    {
      kind: Type.Literal("cron"),
      expr: Type.String({
        minLength: 1,
        maxLength: 200,
        description: "5 fields, 6 with seconds first, or @daily and its kin",
      }),
      tz: Type.Optional(Type.String({ description: "IANA zone; default cron.timezone" })),
    },
    closed,
  ),
  Type.Object({ kind: Type.Literal("every"), everyMs: Type.Integer({ minimum: 100 }) }, closed),
  Type.Object(
    {
      kind: Type.Literal("at"),
      at: Type.Union([Type.String(), Type.Integer()], {
        description: "ISO 8601 date, 'in 20m', or epoch milliseconds",
      }),
      tz: Type.Optional(Type.String()),
    },
    closed,
  ),
]);

export const Payload = Type.Union([
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

const span = (description: string) =>
  Type.Integer({ minimum: 0, maximum: 31_536_000_000, description });

const givenSchedule = Type.Union([Schedule, Type.String({ minLength: 1, maxLength: 200 })]);

/** The body of `POST /cron/preview`. */
export const previewRequest = Type.Object({ schedule: givenSchedule }, closed);

/** What a job is made of, beside its name; the same over HTTP and in the configuration. */
const definition = {
  ...entryFields,
  schedule: givenSchedule,
  payload: Payload,
  missed: Type.Optional(Type.Union([Type.Literal("skip"), Type.Literal("run-once")])),
  overlap: Type.Optional(Type.Union([Type.Literal("skip"), Type.Literal("queue")])),
  timeoutMs: Type.Optional(Type.Integer({ minimum: 1, maximum: 86_400_000 })),
  graceMs: Type.Optional(
    span("A slot that is later than this is missed; default a tenth of the interval, 1 s to 60 s"),
  ),
  jitterMs: Type.Optional(span("Each slot is delayed by up to this")),
  maxErrors: Type.Optional(
    Type.Integer({ minimum: 0, description: "Failures in a row that disable the job; 0 never" }),
  ),
  deleteAfterRun: Type.Optional(Type.Boolean()),
};

export const NewJob = Type.Object({ ...entryName, ...definition }, closed);
export const JobChange = Type.Partial(NewJob, closed);
export const ConfiguredJob = Type.Object(definition, closed);

export type NewJob = Static<typeof NewJob>;
export type JobChange = Static<typeof JobChange>;
export type ConfiguredJob = Static<typeof ConfiguredJob>;

export const CronConfig = Type.Object(
  {
    enabled: Type.Boolean({
      default: true,
      description: "false: no job runs; all can still be seen and edited",
    }),
    timezone: Type.Optional(
      zoneSchema("IANA zone of schedules without one; default this machine's"),
    ),
    maxErrors: Type.Integer({
      default: 10,
      minimum: 0,
      description: "Failures in a row that disable a job; 0 never",
    }),
    keepRuns: Type.Integer({
      default: 100,
      minimum: 1,
      maximum: 10_000,
      description: "History kept per job",
    }),
    jobs: Type.Record(Type.String(), ConfiguredJob, {
      default: {},
      description: "Jobs by name; read-only over HTTP",
    }),
  },
  { ...closed, default: {} },
);
export type CronConfig = Static<typeof CronConfig>;

/** What the routes of jobs take. */
export const JOBS = { noun: "cron job", plural: "jobs", create: NewJob, change: JobChange };
