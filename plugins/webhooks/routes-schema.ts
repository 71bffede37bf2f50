/** The schemas of requests and responses of the webhooks and of their management. */
import { type Method, type RouteOptions, Type } from "portico";
import { AnyObject, choice, eventsResponse, jsonResponse, limitField, Time } from "portico/openapi";
import { OUTCOMES } from "./outcomes.ts";
import { testRequest } from "./schema.ts";

const owner = { access: "gateway" } as const;
const Text = Type.Optional(Type.String());

// the webhooks themselves

/** The response to a sender, unless a mapping defines another one. */
const Accepted = Type.Object({
  status: Type.Integer(),
  message: Type.Optional(Type.String()),
  eventId: Text,
  turnId: Text,
  sessionId: Text,
  outcome: Text,
});
const anyResponse = {
  200: {
    description: "The gateway accepted the event, or the mapping skipped it.",
    content: { "application/json": Type.Unknown(), "text/plain": Type.String() },
  },
  202: {
    description: "The gateway accepted the event.",
    content: { "application/json": Type.Unknown() },
  },
  204: { description: "The gateway accepted the event, or the mapping skipped it." },
};
const ItemState = Type.Object({
  status: Type.Optional(Type.Integer()),
  state: Type.String(),
  attempts: Type.Integer(),
  createdAt: Time,
});

/** Any JSON, a form, XML or text: the mapping decides what it reads. */
const anyBody = {
  body: Type.Unknown(),
  bodyTypes: [
    "application/json",
    "application/x-www-form-urlencoded",
    "application/xml",
    "text/plain",
  ],
};

/** The form of errors of the webhooks. */
export const webhookError = Type.Object({
  status: Type.Integer(),
  error: Type.Object({ code: Type.String(), message: Type.String(), param: Text }),
});

type Declaration = Omit<RouteOptions, "access" | "maxBodyBytes">;

/** The endpoints below the prefix, for listings. The webhooks check every request by rules of their own. */
export const ENDPOINTS: readonly [Method, string, Declaration][] = [
  [
    "POST",
    "",
    {
      summary: "Deliver a request to the first mapping that matches",
      ...anyBody,
      optionalBody: true,
      response: anyResponse,
    },
  ],
  [
    "POST",
    "/wake",
    {
      summary: "Queue an event for the agent",
      body: Type.Object({
        text: Type.String({ minLength: 1 }),
        mode: Type.Optional(choice(["now", "next-heartbeat"])),
      }),
      response: jsonResponse(Accepted),
    },
  ],
  [
    "POST",
    "/agent",
    {
      summary: "Start an agent turn",
      body: Type.Object({
        message: Type.String({ minLength: 1 }),
        session: Text,
        model: Text,
        channel: Text,
        agent: Text,
      }),
      response: jsonResponse(Accepted),
    },
  ],
  [
    "POST",
    "/:mapping",
    {
      summary: "Deliver a request to a mapping by its name",
      ...anyBody,
      optionalBody: true,
      response: anyResponse,
    },
  ],
  [
    "GET",
    "/events/:id",
    { summary: "Show the state of an event", response: jsonResponse(ItemState) },
  ],
  ["GET", "/turns/:id", { summary: "Show the state of a turn", response: jsonResponse(ItemState) }],
];

// their management

const delivery = {
  id: Type.String(),
  source: Type.String(),
  outcome: choice(OUTCOMES),
  at: Time,
  itemId: Text,
  status: Type.Optional(Type.Integer()),
  action: Text,
};

const Sample = Type.Object({
  mapping: Type.String(),
  sample: AnyObject,
  paths: Type.Array(Type.String()),
});

export const managementRoutes = {
  list: {
    ...owner,
    summary: "List the webhook endpoints and mappings",
    response: jsonResponse(
      Type.Object({
        enabled: Type.Boolean(),
        path: Type.String(),
        warning: Text,
        rateLimit: Type.Unknown(),
        credentials: Type.Array(Type.String()),
        endpoints: Type.Array(Type.String()),
        mappings: Type.Array(Type.Object({ name: Type.String(), path: Type.String() })),
        refused: AnyObject,
      }),
    ),
  },
  deliveries: {
    ...owner,
    summary: "List the received deliveries",
    query: Type.Object({
      outcome: Type.Optional(choice(OUTCOMES)),
      source: Type.Optional(
        Type.String({ description: "Only deliveries of this endpoint or mapping" }),
      ),
      before: Type.Optional(
        Type.String({
          description: "Only deliveries before this time: an ISO date, or milliseconds since 1970",
        }),
      ),
      limit: limitField(50),
    }),
    response: jsonResponse(Type.Object({ deliveries: Type.Array(Type.Object(delivery)) })),
  },
  delivery: {
    ...owner,
    summary: "Show a received request with its body",
    response: jsonResponse(
      Type.Object({ ...delivery, payload: Type.Union([Type.String(), Type.Null()]) }),
    ),
  },
  replay: {
    ...owner,
    summary: "Replay a received request",
    body: null,
    response: jsonResponse(
      Type.Object({
        ok: Type.Literal(true),
        deliveryId: Type.String(),
        replayOf: Type.String(),
        action: Type.String(),
        eventId: Text,
        turnId: Text,
        sessionId: Text,
      }),
    ),
  },
  test: {
    ...owner,
    summary:
      "Show which mapping a request would match and which text it would produce, without starting anything",
    changes: false,
    body: testRequest,
    response: jsonResponse(
      Type.Object({
        ok: Type.Literal(true),
        source: Type.String(),
        action: Type.String(),
        status: Type.Integer(),
        missing: Type.Array(Type.String()),
        nearest: Type.Record(Type.String(), Type.String()),
      }),
    ),
  },
  tail: {
    ...owner,
    summary: "Stream deliveries as they arrive",
    response: eventsResponse("A stream with an event `delivery` for each delivery."),
  },
  catchSample: {
    ...owner,
    summary: "Store the next request that a mapping accepts as its sample",
    query: Type.Object({
      timeout: Type.Optional(
        Type.Number({
          exclusiveMinimum: 0,
          maximum: 3600,
          description: "How long to wait for the request, in seconds. Default: 600",
        }),
      ),
      any: Type.Optional(choice(["true", "false"], "Whether to accept requests that do not match")),
    }),
    body: null,
    response: jsonResponse(Type.Composite([Type.Object({ ok: Type.Literal(true) }), Sample])),
  },
  sample: { ...owner, summary: "Show the sample of a mapping", response: jsonResponse(Sample) },
  forgetSample: {
    ...owner,
    summary: "Delete the sample of a mapping",
    response: jsonResponse(Type.Object({ ok: Type.Literal(true) })),
  },
} satisfies Record<string, RouteOptions>;
