/** Requests and responses of the routes of usage. */
import { type RouteOptions, Type } from "portico";
import { jsonResponse, limitField, Time } from "portico/openapi";

const owner = { access: "gateway" } as const;
const Count = Type.Integer({ minimum: 0 });
const Text = Type.Optional(Type.String());
const Cost = Type.Union([Type.Number(), Type.Null()], {
  description: "The cost in US dollars; null if no price is known",
});

const range = {
  since: Type.Optional(
    Type.String({
      description: "The beginning of the period: a time, or how long ago it was (7d, 24h)",
    }),
  ),
  from: Type.Optional(
    Type.String({
      description: "The beginning of the period: a date or time, in place of `since`",
    }),
  ),
  to: Type.Optional(
    Type.String({ description: "The end of the period: a date or time. Default: now" }),
  ),
  channel: Text,
  model: Text,
  key: Text,
  tag: Text,
};

const percentile = (meaning: string) =>
  Type.Union([Type.Number(), Type.Null()], {
    description: `An estimate of the time in milliseconds ${meaning}; null if no times were recorded`,
  });

const amounts = {
  requests: Count,
  errors: Count,
  promptTokens: Count,
  completionTokens: Count,
  totalTokens: Count,
  cachedTokens: Count,
  costUsd: Cost,
  unmetered: Count,
  unpriced: Count,
  estimated: Count,
  averageMs: Type.Union([Type.Number(), Type.Null()], {
    description: "The average time of a request in milliseconds; null if it is unknown",
  }),
  p50Ms: percentile("within which half of the requests were completed"),
  p95Ms: percentile("within which 95 of 100 requests were completed"),
  firstByteP50Ms: percentile("within which half of the responses sent their first byte"),
  firstByteP95Ms: percentile("within which 95 of 100 responses sent their first byte"),
};

const group = {
  model: Text,
  channel: Text,
  key: Type.Optional(Type.Union([Type.String(), Type.Null()])),
  alias: Text,
  principal: Text,
  tag: Text,
  day: Text,
  hour: Text,
};

const Request = Type.Object({
  requestId: Type.String(),
  at: Time,
  channel: Text,
  model: Text,
  key: Type.Optional(Type.Union([Type.String(), Type.Null()])),
  status: Type.Integer(),
  attempts: Type.Optional(Count),
  stream: Type.Optional(Type.Boolean()),
  ms: Type.Optional(Type.Number()),
  costUsd: Type.Optional(Cost),
});

export const usageRoutes = {
  sums: {
    ...owner,
    summary: "Sum up tokens and costs",
    query: Type.Object({
      ...range,
      alias: Type.Optional(
        Type.String({ description: "Only requests in which the client named this alias or model" }),
      ),
      principal: Type.Optional(
        Type.String({
          description:
            "Only requests of this principal: owner, key:NAME, webhook:NAME or poll:NAME",
        }),
      ),
      by: Type.Optional(
        Type.Array(Type.String(), {
          description:
            "How rows are grouped: by model, channel, key, alias, principal, tag, day or hour. Separate several groupings with commas, or repeat the parameter",
        }),
      ),
    }),
    response: jsonResponse(
      Type.Object({
        from: Time,
        to: Time,
        by: Type.Array(Type.String()),
        rows: Type.Array(Type.Object({ ...group, ...amounts })),
        total: Type.Object(amounts),
      }),
    ),
  },
  requests: {
    ...owner,
    summary: "List individual requests",
    query: Type.Object({
      ...range,
      status: Type.Optional(
        Type.String({
          pattern: "^[1-5]([0-9][0-9]|xx)$",
          description: "Only requests with this status (429) or class of statuses (4xx)",
        }),
      ),
      limit: limitField(50),
      before: Type.Optional(Type.String({ description: "The `next` value of the previous page" })),
    }),
    response: jsonResponse(
      Type.Object({ from: Time, to: Time, requests: Type.Array(Request), next: Text }),
    ),
  },
} satisfies Record<string, RouteOptions>;
