/** Requests and responses of the routes of embeddings, models and channels. */
import { type RouteOptions, Type } from "portico";
import { AnyObject, choice, jsonResponse } from "portico/openapi";

const client = { access: "client" } as const;
const owner = { access: "gateway" } as const;
const Text = Type.Optional(Type.String());
/** An error in the format that OpenAI's clients expect. */
export const openaiError = Type.Object({
  error: Type.Object({
    message: Type.String(),
    type: Type.Union([Type.String(), Type.Null()]),
    param: Type.Optional(Type.Union([Type.String(), Type.Null()])),
    code: Type.Optional(Type.Union([Type.String(), Type.Integer(), Type.Null()])),
  }),
});

const Model = Type.Object(
  { id: Type.String() },
  {
    description:
      "The list in OpenAI's format, or in Anthropic's format if the request has the header anthropic-version.",
  },
);

const Channel = Type.Object({
  name: Type.String(),
  provider: Type.String(),
  state: Type.String(),
  priority: Type.Number(),
  weight: Type.Number(),
  requests: Type.Integer(),
  errors: Type.Integer(),
  inFlight: Type.Integer(),
});

export const modelRoutes = {
  embeddings: {
    ...client,
    summary: "Compute the embeddings of texts",
    body: Type.Object({
      model: Type.String(),
      input: Type.Union([Type.String(), Type.Array(Type.Unknown())]),
      encoding_format: Type.Optional(choice(["float", "base64"])),
      dimensions: Type.Optional(Type.Integer({ minimum: 1 })),
    }),
    checkedBy: "handler",
    response: jsonResponse(Type.Object({ data: Type.Array(AnyObject) })),
  },
  models: {
    ...client,
    summary: "List all models",
    query: Type.Object({
      limit: Type.Optional(
        Type.String({
          description: "The maximum number of models to return, as in Anthropic's API",
        }),
      ),
      after_id: Text,
      before_id: Text,
    }),
    checkedBy: "handler",
    response: jsonResponse(Type.Object({ data: Type.Array(Model) })),
  },
  model: { ...client, summary: "Show one model", response: jsonResponse(Model) },
  channels: {
    ...owner,
    summary: "List the channels with their state",
    response: jsonResponse(Type.Object({ channels: Type.Array(Channel) })),
  },
  providers: {
    ...owner,
    summary: "List the providers that a channel can use",
    response: jsonResponse(
      Type.Object({
        providers: Type.Array(
          Type.Object({
            name: Type.String(),
            description: Text,
            baseUrl: Type.Optional(
              Type.String({
                description:
                  "The base URL of channels that do not set their own; absent if every channel has to set one",
              }),
            ),
            builtinChannel: Type.Optional(
              Type.String({
                description: "The provider's channel that exists without configuration",
              }),
            ),
            composite: Type.Optional(
              Type.Boolean({
                description:
                  "Whether the provider's models call other models of the gateway to respond",
              }),
            ),
          }),
        ),
      }),
    ),
  },
  testChannel: {
    ...owner,
    summary: "Test a channel: list its models and send one of them a short request",
    changes: false,
    body: Type.Object({
      model: Type.Optional(
        Type.String({
          description: "The model to test. Default: the first model that the upstream lists",
        }),
      ),
    }),
    optionalBody: true,
    response: jsonResponse(
      Type.Object({
        ok: Type.Boolean(),
        models: Type.Optional(Type.Integer()),
        modelsError: Text,
        unnamed: Type.Optional(Type.Boolean()),
        model: Text,
        answer: Text,
        ms: Type.Optional(Type.Number()),
        error: Text,
      }),
    ),
  },
} satisfies Record<string, RouteOptions>;
