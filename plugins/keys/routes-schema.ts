/** What the routes of client keys take and answer. */
import { type RouteOptions, Type } from "portico";
import { jsonResponse, Time } from "portico/openapi";
import { changeRequest, createRequest, rotateRequest } from "./schema.ts";

const owner = { access: "gateway" } as const;

const view = {
  name: Type.String(),
  version: Type.String({ description: "For If-Match" }),
  state: Type.String({ description: "active, disabled or expired" }),
  enabled: Type.Boolean(),
  previousUntil: Type.Optional(Time),
  spentUsd: Type.Optional(Type.Union([Type.Number(), Type.Null()])),
  warnings: Type.Optional(Type.Array(Type.String())),
};
const withSecret = Type.Object({
  ...view,
  key: Type.String({ description: "The secret; the gateway shows it only in this response" }),
});

export const keyRoutes = {
  list: {
    ...owner,
    summary: "Client keys",
    response: jsonResponse(Type.Object({ keys: Type.Array(Type.Object(view)) })),
  },
  make: {
    ...owner,
    summary: "Makes a client key",
    body: createRequest,
    response: jsonResponse(withSecret, { status: 201 }),
  },
  show: {
    ...owner,
    summary: "One client key; ETag also holds its version",
    response: jsonResponse(Type.Object(view)),
  },
  change: {
    ...owner,
    summary: "Changes limits of a client key at the version that was read; null removes one",
    body: changeRequest,
    response: jsonResponse(Type.Object(view)),
  },
  rotate: {
    ...owner,
    summary: "Gives a client key a new secret",
    body: rotateRequest,
    optionalBody: true,
    response: jsonResponse(withSecret),
  },
  revoke: {
    ...owner,
    summary: "Revokes a client key; with If-Match, only if it is unchanged since that version",
    response: jsonResponse(Type.Object({ name: Type.String(), revoked: Type.Literal(true) })),
  },
} satisfies Record<string, RouteOptions>;
