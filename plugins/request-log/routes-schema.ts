/** Requests and responses of the routes of requests. */
import { type RouteOptions, Type } from "portico";
import { AnyObject, choice, jsonResponse, Time } from "portico/openapi";
import { querySchema } from "./schema.ts";
import { OUTCOMES } from "./view.ts";

const owner = { access: "gateway" } as const;
const Text = Type.Optional(Type.String());

const request = {
  id: Type.String(),
  at: Time,
  ms: Type.Number(),
  firstByteMs: Type.Optional(Type.Number()),
  outcome: choice(OUTCOMES),
  status: Type.Integer(),
  error: Type.Optional(Type.Object({ code: Type.String(), message: Type.String() })),
  key: Type.Union([Type.String(), Type.Null()]),
  principal: Type.String(),
  route: Text,
  alias: Text,
  channel: Text,
  provider: Text,
  model: Text,
  attempts: Type.Array(
    Type.Object({ channel: Type.String(), model: Type.String(), startMs: Type.Number() }),
  ),
  hooks: Type.Array(
    Type.Object({
      name: Type.String(),
      event: Type.String(),
      runs: Type.Integer(),
      fields: Type.Array(Type.String()),
    }),
  ),
  promptTokens: Type.Optional(Type.Integer()),
  completionTokens: Type.Optional(Type.Integer()),
  costUsd: Type.Optional(Type.Number()),
};

export const requestRoutes = {
  list: {
    ...owner,
    summary: "List individual requests to models, newest first",
    query: querySchema,
    response: jsonResponse(Type.Object({ requests: Type.Array(Type.Object(request)), next: Text })),
  },
  show: {
    ...owner,
    summary: "Show what happened to one request",
    response: jsonResponse(
      Type.Object({
        ...request,
        headers: Type.Optional(AnyObject),
        prompt: Type.Optional(Type.Unknown()),
        response: Type.Optional(Type.Unknown()),
        curl: Text,
      }),
    ),
  },
} satisfies Record<string, RouteOptions>;
