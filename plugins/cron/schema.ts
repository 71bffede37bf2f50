import { type Static, Type } from "portico";
import {
  closed,
  entryFields,
  entryName,
  GivenScheduleSchema,
  PayloadSchema,
  zoneSchema,
} from "portico/schedules";

const span = (description: string) =>
  Type.Integer({ minimum: 0, maximum: 31_536_000_000, description });

/** The body of `POST /cron/preview`. */
export const previewRequest = Type.Object({ schedule: GivenScheduleSchema }, closed);

/** What a job is made of, beside its name; the same over HTTP and in the configuration. */
const definition = {
  ...entryFields,
  schedule: GivenScheduleSchema,
  payload: PayloadSchema,
  missed: Type.Optional(Type.Union([Type.Literal("skip"), Type.Literal("run-once")])),
  overlap: Type.Optional(Type.Union([Type.Literal("skip"), Type.Literal("queue")])),
  timeoutMs: Type.Optional(Type.Integer({ minimum: 1, maximum: 86_400_000 })),
  graceMs: Type.Optional(
    span("A slot that is later than this is missed; default a tenth of the interval, 1 s to 60 s"),
  ),
  jitterMs: Type.Optional(span("Each slot is delayed by up to this")),
  maxErrors: Type.Optional(
    Type.Integer({
      minimum: 0,
      description: "How many failures in a row disable the job; 0: never",
    }),
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
      description: "false: no job runs; jobs can still be listed and edited",
    }),
    timezone: Type.Optional(
      zoneSchema("IANA zone of schedules without one; default this machine's"),
    ),
    maxErrors: Type.Integer({
      default: 10,
      minimum: 0,
      description: "How many failures in a row disable a job; 0: never",
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
  { ...closed, default: {}, description: "Jobs that run at a date, at an interval, or once." },
);
export type CronConfig = Static<typeof CronConfig>;

/** What the routes of jobs take and return. */
export const JOBS = {
  noun: "cron job",
  plural: "jobs",
  create: NewJob,
  change: JobChange,
  view: { source: Type.String({ description: "config, api or agent" }) },
};
