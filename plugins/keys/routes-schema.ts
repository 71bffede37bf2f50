/** Requests and responses of the routes of client keys. */
import { type RouteOptions, Type } from "portico";
import { jsonResponse, Time } from "portico/openapi";
import { changeRequest, createRequest, rotateRequest } from "./schema.ts";

const owner = { access: "gateway" } as const;

const view = {
  name: Type.String(),
  version: Type.String({ description: "The version of the key, for If-Match" }),
  state: Type.String({ description: "The state of the key: active, disabled or expired" }),
  enabled: Type.Boolean(),
  previousUntil: Type.Optional(Time),
  spentUsd: Type.Optional(Type.Union([Type.Number(), Type.Null()])),
  warnings: Type.Optional(Type.Array(Type.String())),
};
const withSecret = Type.Object({
  ...view,
  key: Type.String({ description: "The secret, which only this response contains" }),
});

export const keyRoutes = {
  list: {
    ...owner,
    summary: "List the client keys",
    response: jsonResponse(Type.Object({ keys: Type.Array(Type.Object(view)) })),
  },
  make: {
    ...owner,
    summary: "Create a client key",
    body: createRequest,
    response: jsonResponse(withSecret, { status: 201 }),
  },
  show: {
    ...owner,
    summary: "Show a client key; the header ETag contains the key's version",
    response: jsonResponse(Type.Object(view)),
  },
  change: {
    ...owner,
    summary:
      "Change the limits of a client key, if it is unchanged since the version in If-Match; null removes a limit",
    body: changeRequest,
    response: jsonResponse(Type.Object(view)),
  },
  rotate: {
    ...owner,
    summary: "Give a client key a new secret",
    body: rotateRequest,
    optionalBody: true,
    response: jsonResponse(withSecret),
  },
  revoke: {
    ...owner,
    summary: "Revoke a client key; with If-Match, only if it is unchanged since that version",
    response: jsonResponse(Type.Object({ name: Type.String(), revoked: Type.Literal(true) })),
  },
} satisfies Record<string, RouteOptions>;
