/** Request and response of `POST /v1/chat/completions`. */
import { type RouteOptions, Type } from "portico";
import { AnyObject, choice, streamableResponse } from "portico/openapi";

/** Allows null as well, which many clients send for an absent member. */
const orNull = <T extends ReturnType<typeof Type.Number | typeof Type.String>>(schema: T) =>
  Type.Optional(Type.Union([schema, Type.Null()]));

const Message = Type.Object({
  role: choice(["system", "developer", "user", "assistant", "tool", "function"]),
  content: Type.Optional(Type.Union([Type.String(), Type.Array(AnyObject), Type.Null()])),
});

const ChatRequest = Type.Object(
  {
    model: Type.String({ description: "An alias, a model, or channel/model" }),
    messages: Type.Array(Message, { minItems: 1 }),
    stream: Type.Optional(Type.Union([Type.Boolean(), Type.Null()])),
    temperature: orNull(Type.Number()),
    top_p: orNull(Type.Number()),
    max_tokens: orNull(Type.Number()),
    max_completion_tokens: orNull(Type.Number()),
    tools: Type.Optional(Type.Union([Type.Array(AnyObject), Type.Null()])),
    tool_choice: Type.Optional(Type.Unknown()),
    response_format: Type.Optional(Type.Unknown()),
    user: orNull(Type.String()),
  },
  {
    description:
      "A chat completion request in OpenAI's format. The gateway passes unknown members on to the upstream.",
  },
);

const Completion = Type.Object({
  id: Type.String(),
  object: Type.String(),
  created: Type.Number(),
  model: Type.String(),
  choices: Type.Array(AnyObject),
  usage: Type.Optional(Type.Union([AnyObject, Type.Null()])),
});

export const chatRoutes = {
  completions: {
    access: "client",
    summary: "Create a chat completion, streamed if the request says so",
    body: ChatRequest,
    checkedBy: "handler",
    response: streamableResponse(Completion),
  },
} satisfies Record<string, RouteOptions>;
