/** The configuration of the store: its address, its connections, and its retention. */
import { type Static, Type } from "portico";
import { DEFAULT_POOL, DEFAULT_STATEMENT_MS } from "./postgres/connection.ts";

/** A retention time in days, at most a hundred years: no record of a store is older than that. */
const days = (fallback: number, description: string) =>
  Type.Number({ default: fallback, minimum: 0, maximum: 36_525, description });

const retentionSchema = Type.Object({
  itemsDays: days(
    14,
    "The number of days after which the gateway deletes completed and cancelled turns and events; 0 means never.",
  ),
  deadDays: days(
    90,
    "The number of days after which the gateway deletes turns and events that failed for good (state `dead`); 0 means never.",
  ),
  deliveriesDays: days(
    30,
    "The number of days after which the gateway deletes entries of the webhooks' delivery log; 0 means never.",
  ),
  sessionsDays: days(
    30,
    "The number of days without use after which the gateway deletes a session whose name nobody chose; 0 means never.",
  ),
  usageDays: days(
    400,
    "The number of days after which the gateway deletes the usage of models; 0 means never.",
  ),
});

const file = (description: string) =>
  Type.Optional(Type.String({ minLength: 1, description, atNextStart: true }));

const tlsSchema = Type.Object(
  {
    mode: Type.Union(
      [Type.Literal("verify-full"), Type.Literal("no-verify"), Type.Literal("disable")],
      {
        default: "verify-full",
        description:
          "verify-full checks the server's certificate and name; no-verify encrypts without checking; disable does not encrypt.",
        atNextStart: true,
      },
    ),
    ca: file("A file with the certificates of the CA. Default: the system's CAs."),
    cert: file("A file with the client certificate."),
    key: file("A file with the private key of the client certificate."),
  },
  { description: "PostgreSQL: settings of TLS, in place of the ssl… parameters of store.url." },
);

export const storeSchema = Type.Object(
  {
    url: Type.Optional(
      Type.String({
        pattern: "^((file:)?/|postgres(ql)?://)",
        expected:
          "file:<absolute path>, an absolute path, or postgres://user:password@host:port/database",
        description:
          "The address of the store: file:PATH, an absolute path, or postgres://…. Default: a file in <home>/state.",
        atNextStart: true,
      }),
    ),
    shared: Type.Optional(
      Type.Boolean({
        description:
          "Whether other gateways use the same store. If so, limits apply to all of these gateways together. Default: true for PostgreSQL, false for a file.",
        atNextStart: true,
      }),
    ),
    pool: Type.Integer({
      default: DEFAULT_POOL,
      minimum: 5,
      maximum: 200,
      description:
        "PostgreSQL: the largest number of connections that this gateway, or each of its workers, opens. Four of the connections write and listen for notifications; the others read.",
      atNextStart: true,
    }),
    statementTimeoutMs: Type.Integer({
      default: DEFAULT_STATEMENT_MS,
      minimum: 100,
      maximum: 600_000,
      description:
        "PostgreSQL: how long a statement may take before the gateway cancels it, in milliseconds. Checks, copies and clean-up may take longer.",
      atNextStart: true,
    }),
    tls: Type.Optional(tlsSchema),
    retention: retentionSchema,
  },
  { description: "Where the queue, schedules, sessions and hook data are stored." },
);

export type Retention = Static<typeof retentionSchema>;
