/** The schemas of requests and responses of the routes of deliveries. */
import { type RouteOptions, Type } from "portico";
import { choice, jsonResponse, limitField, Time } from "portico/openapi";

export const STATES = ["queued", "running", "done", "dead", "cancelled"] as const;

const owner = { access: "gateway" } as const;

const Delivery = Type.Object({
  id: Type.String(),
  seq: Type.Integer({ description: "The number of the delivery, to pass as `before`" }),
  url: Type.String({ description: "The address of the receiver, with secrets masked" }),
  type: Type.Optional(Type.String()),
  principal: Type.Optional(Type.String()),
  turnId: Type.Optional(Type.String()),
  state: choice(STATES),
  attempts: Type.Integer(),
  maxAttempts: Type.Optional(Type.Integer()),
  createdAt: Time,
  finishedAt: Type.Optional(Time),
  nextAttemptAt: Type.Optional(Time),
  status: Type.Optional(
    Type.Integer({ description: "The status that the receiver responded with" }),
  ),
  error: Type.Optional(Type.Unknown()),
});

export const deliveryRoutes = {
  list: {
    ...owner,
    summary: "List the results that are posted to URLs",
    query: Type.Object({
      state: Type.Optional(choice(STATES, "Only deliveries in this state")),
      before: Type.Optional(
        Type.Integer({ minimum: 0, description: "Only deliveries with a smaller `seq`" }),
      ),
      limit: limitField(50),
    }),
    response: jsonResponse(Type.Object({ deliveries: Type.Array(Delivery) })),
  },
  show: {
    ...owner,
    summary: "Show a delivery with its message",
    response: jsonResponse(
      Type.Composite([
        Delivery,
        Type.Object({
          signed: Type.Optional(Type.Boolean()),
          headers: Type.Optional(Type.Record(Type.String(), Type.String())),
          message: Type.Unknown(),
        }),
      ]),
    ),
  },
  replay: {
    ...owner,
    summary: "Post a delivery again",
    body: null,
    response: jsonResponse(
      Type.Object({
        ok: Type.Literal(true),
        deliveryId: Type.String(),
        replayOf: Type.String(),
      }),
    ),
  },
} satisfies Record<string, RouteOptions>;
