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

/** The members of a job except its name, over HTTP and in the configuration. */
const definition = {
  ...entryFields,
  schedule: GivenScheduleSchema,
  payload: PayloadSchema,
  missed: Type.Optional(Type.Union([Type.Literal("skip"), Type.Literal("run-once")])),
  overlap: Type.Optional(Type.Union([Type.Literal("skip"), Type.Literal("queue")])),
  timeoutMs: Type.Optional(Type.Integer({ minimum: 1, maximum: 86_400_000 })),
  graceMs: Type.Optional(
    span(
      "How late a run may start before it counts as missed. Default: a tenth of the interval, at least 1 s and at most 60 s.",
    ),
  ),
  jitterMs: Type.Optional(
    span("The maximum delay that is added to each run. All gateways add the same delay."),
  ),
  maxErrors: Type.Optional(
    Type.Integer({
      minimum: 0,
      description:
        "The number of consecutive failures that disables the job. If it is 0, failures never disable the job.",
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
      description: "Whether jobs run. If this is false, they can still be listed and edited.",
    }),
    timezone: Type.Optional(
      zoneSchema(
        "The time zone for schedules that do not specify one, an IANA name. Default: the zone of the machine.",
      ),
    ),
    maxErrors: Type.Integer({
      default: 10,
      minimum: 0,
      description:
        "The number of consecutive failures that disables a job. If it is 0, failures never disable a job.",
    }),
    keepRuns: Type.Integer({
      default: 100,
      minimum: 1,
      maximum: 10_000,
      description: "How many runs the history of each job keeps.",
    }),
    jobs: Type.Record(Type.String(), ConfiguredJob, {
      default: {},
      description: "Jobs by name. Over HTTP they are read-only.",
    }),
  },
  {
    ...closed,
    default: {},
    description: "Jobs that run on a cron schedule, at an interval, or once.",
  },
);
export type CronConfig = Static<typeof CronConfig>;

/** The schemas of the routes of jobs. */
export const JOBS = {
  noun: "cron job",
  plural: "jobs",
  create: NewJob,
  change: JobChange,
  view: { source: Type.String({ description: "Where the job was created: config, api or agent" }) },
};
