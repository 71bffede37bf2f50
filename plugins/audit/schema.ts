/** The configuration of this plugin, and the query of its list. */
import { type Static, Type } from "portico";

export const auditSchema = Type.Object(
  {
    keep: Type.Integer({
      minimum: 100,
      maximum: 1_000_000,
      default: 10_000,
      description:
        "The largest number of entries in the audit trail. The gateway deletes the oldest entries first.",
    }),
    keepDays: Type.Number({
      exclusiveMinimum: 0,
      maximum: 3660,
      default: 365,
      description:
        "The number of days after which the gateway deletes an entry from the audit trail.",
    }),
  },
  { description: "The audit trail: who changed what." },
);

export type AuditConfig = Static<typeof auditSchema>;

export const OUTCOMES = ["made", "refused", "failed"] as const;

const text = (description: string) => Type.Optional(Type.String({ description }));

/** The query of `GET /audit`. */
export const querySchema = Type.Object({
  principal: text("Only changes by this principal, for example owner, key:ci or outside."),
  via: text(
    "Only changes made through this interface: console, command line, http, file or gateway.",
  ),
  address: text("Only changes from this address."),
  action: text(
    "Only changes whose route, entry or configuration key contains this string, for example /cron, keys or nightly.",
  ),
  outcome: text("Only changes with this outcome: made, refused or failed."),
  since: text(
    "Only changes from this time on: a date, milliseconds since 1970, or how long ago, such as 90m.",
  ),
  until: text(
    "Only changes up to this time: a date, milliseconds since 1970, or how long ago, such as 90m.",
  ),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000, default: 50 })),
  before: text("The `next` value of the previous page."),
});
