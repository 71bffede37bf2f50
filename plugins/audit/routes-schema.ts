/** The schemas of the audit trail's routes. */
import { type RouteOptions, Type } from "portico";
import { choice, jsonResponse, Time } from "portico/openapi";
import { OUTCOMES, querySchema } from "./schema.ts";

const owner = { access: "gateway" } as const;
const Text = Type.Optional(Type.String());

const Entry = Type.Object({
  id: Type.String(),
  at: Time,
  outcome: choice(OUTCOMES),
  principal: Type.String({ description: "The principal: owner, key:<name>, or outside" }),
  via: Type.String({
    description: "How the change was made: console, command line, http, file or gateway",
  }),
  address: Text,
  action: Type.String({ description: "The route of the request, or the configuration file" }),
  entry: Text,
  status: Type.Optional(Type.Integer()),
  error: Type.Optional(Type.Object({ code: Type.String(), message: Type.String() })),
  changes: Type.Array(
    Type.Object({
      key: Type.String(),
      before: Type.Optional(Type.Unknown()),
      after: Type.Optional(Type.Unknown()),
    }),
  ),
  request: Type.Optional(Type.Unknown()),
  requestId: Text,
  count: Type.Optional(Type.Integer()),
});

export const auditRoutes = {
  list: {
    ...owner,
    summary: "List the changes, newest first",
    query: querySchema,
    response: jsonResponse(Type.Object({ entries: Type.Array(Entry), next: Text })),
  },
  show: { ...owner, summary: "Show one change", response: jsonResponse(Entry) },
} satisfies Record<string, RouteOptions>;
