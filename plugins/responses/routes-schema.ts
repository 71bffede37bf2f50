/** Requests and responses of the routes of OpenAI's Responses format. */
import { type RouteOptions, Type } from "portico";
import { AnyObject, jsonResponse, streamableResponse } from "portico/openapi";

const client = { access: "client" } as const;
const Text = Type.Optional(Type.Union([Type.String(), Type.Null()]));

const request = {
  model: Type.String({ description: "An alias, a model, or channel/model" }),
  input: Type.Optional(Type.Union([Type.String(), Type.Array(AnyObject)])),
  instructions: Text,
  previous_response_id: Text,
  tools: Type.Optional(Type.Union([Type.Array(AnyObject), Type.Null()])),
};

const Response = Type.Object({
  id: Type.String(),
  object: Type.Literal("response"),
  status: Type.Optional(Type.String()),
  model: Type.Optional(Type.String()),
  output: Type.Array(AnyObject),
});

export const responseRoutes = {
  create: {
    ...client,
    summary: "Create a response, streamed if the request says so",
    body: Type.Object({
      ...request,
      stream: Type.Optional(Type.Union([Type.Boolean(), Type.Null()])),
      store: Type.Optional(Type.Union([Type.Boolean(), Type.Null()])),
    }),
    checkedBy: "handler",
    response: streamableResponse(Response),
  },
  inputTokens: {
    ...client,
    summary:
      "Count the tokens of a request; the gateway estimates them if the channel cannot count tokens",
    body: Type.Object(request),
    checkedBy: "handler",
    response: jsonResponse(Type.Object({ object: Type.String(), input_tokens: Type.Integer() })),
  },
  compact: {
    ...client,
    summary: "Compact a conversation into a few items",
    body: Type.Object(request),
    checkedBy: "handler",
    response: jsonResponse(Type.Object({ id: Type.String(), output: Type.Array(AnyObject) })),
  },
  show: { ...client, summary: "Get a stored response", response: jsonResponse(Response) },
  remove: {
    ...client,
    summary: "Delete a stored response",
    response: jsonResponse(
      Type.Object({
        id: Type.String(),
        object: Type.String(),
        deleted: Type.Literal(true),
      }),
    ),
  },
  inputItems: {
    ...client,
    summary: "List the input items of a stored response",
    query: Type.Object({
      limit: Type.Optional(Type.String()),
      order: Type.Optional(Type.String()),
      after: Type.Optional(Type.String()),
    }),
    checkedBy: "handler",
    response: jsonResponse(
      Type.Object({ object: Type.Literal("list"), data: Type.Array(AnyObject) }),
    ),
  },
} satisfies Record<string, RouteOptions>;
