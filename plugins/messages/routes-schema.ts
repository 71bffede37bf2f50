/** Requests and responses of the routes of Anthropic's format. */
import { type RouteOptions, Type } from "portico";
import { AnyObject, jsonResponse, streamableResponse } from "portico/openapi";

const client = { access: "client" } as const;

/** The error body that Anthropic's clients expect. */
export const anthropicError = Type.Object({
  type: Type.Literal("error"),
  error: Type.Object({ type: Type.String(), message: Type.String() }),
  request_id: Type.Union([Type.String(), Type.Null()]),
});

const prompt = {
  model: Type.String({ description: "An alias, a model, or channel/model" }),
  messages: Type.Array(
    Type.Object({
      role: Type.String(),
      content: Type.Union([Type.String(), Type.Array(AnyObject)]),
    }),
    { minItems: 1 },
  ),
  system: Type.Optional(Type.Union([Type.String(), Type.Array(AnyObject)])),
  tools: Type.Optional(Type.Array(AnyObject)),
  tool_choice: Type.Optional(AnyObject),
};

export const messageRoutes = {
  create: {
    ...client,
    summary: "Create a message in Anthropic's format, streamed if the request says so",
    body: Type.Object({
      ...prompt,
      max_tokens: Type.Integer({ minimum: 1 }),
      stream: Type.Optional(Type.Boolean()),
      temperature: Type.Optional(Type.Number()),
      stop_sequences: Type.Optional(Type.Array(Type.String())),
    }),
    checkedBy: "handler",
    response: streamableResponse(
      Type.Object({
        id: Type.String(),
        type: Type.Literal("message"),
        role: Type.Literal("assistant"),
        model: Type.String(),
        content: Type.Array(AnyObject),
        stop_reason: Type.Union([Type.String(), Type.Null()]),
        usage: AnyObject,
      }),
    ),
  },
  countTokens: {
    ...client,
    summary:
      "Count the tokens of a message; the gateway estimates them if the channel cannot count tokens",
    body: Type.Object(prompt),
    checkedBy: "handler",
    response: jsonResponse(Type.Object({ input_tokens: Type.Integer() })),
  },
} satisfies Record<string, RouteOptions>;
