/** What this plugin has in the configuration, and the query of its list. */
import { type Static, Type } from "portico";

export const auditSchema = Type.Object(
  {
    keep: Type.Integer({
      minimum: 100,
      maximum: 1_000_000,
      default: 10_000,
      description: "How many changes the gateway keeps; the newest ones stay.",
    }),
    keepDays: Type.Number({
      exclusiveMinimum: 0,
      maximum: 3660,
      default: 365,
      description: "The gateway deletes a change after this time.",
    }),
  },
  { description: "The audit trail: who changed what." },
);

export type AuditConfig = Static<typeof auditSchema>;

export const OUTCOMES = ["made", "refused", "failed"] as const;

const text = (description: string) => Type.Optional(Type.String({ description }));

/** The query of `GET /audit`. */
export const querySchema = Type.Object({
  principal: text("Only changes by this principal: owner, key:ci, outside."),
  via: text("Only changes by console, command line, http, file or gateway."),
  address: text("Only changes from this address."),
  action: text("Only changes whose route or entry contains this text: /cron, keys, nightly."),
  outcome: text("Only made, refused or failed changes."),
  since: text("A date, milliseconds since 1970, or how long ago (90m)."),
  until: text("A date, milliseconds since 1970, or how long ago."),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000, default: 50 })),
  before: text("The `next` of the previous page."),
});
