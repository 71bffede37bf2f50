/** The schemas of `gateway.keys` in the configuration, and of the bodies of the routes `/keys`. */
import { refuseNetwork, type Static, type TSchema, Type } from "portico";

const count = (description: string) =>
  Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER, description });

const time = (description: string) =>
  Type.String({
    pattern: "^\\d{4}-\\d{2}-\\d{2}(T.+)?$",
    expected: "a date like 2026-12-31, or a time like 2026-12-31T12:00Z",
    refuse: (text: unknown) =>
      Number.isNaN(Date.parse(String(text))) ? "is not a date" : undefined,
    description,
  });

const limits = {
  models: Type.Optional(
    Type.Array(Type.String({ minLength: 1 }), {
      description:
        "The models that the key may use, named as in requests; `*` matches any text. Default: all models except `agent` and `agent/…`.",
    }),
  ),
  tools: Type.Optional(
    Type.Array(Type.String({ minLength: 1 }), {
      description:
        "The names of tools that the key's agent turns have in addition to files, memory, web, browser and sessions; `*` matches any text.",
    }),
  ),
  requestsPerMinute: Type.Optional(count("How many requests the key may send in any minute.")),
  tokensPerMinute: Type.Optional(
    count("How many tokens of prompts and responses the key may use in any minute."),
  ),
  budget: Type.Optional(
    Type.Object(
      {
        // The configuration reads larger integers as strings, since they are usually ids.
        usd: Type.Number({
          minimum: 0,
          maximum: Number.MAX_SAFE_INTEGER,
          description: "The budget in US dollars.",
        }),
        per: Type.Union([Type.Literal("day"), Type.Literal("month")], {
          description: "The period of the budget: a calendar day or month in UTC.",
        }),
      },
      {
        additionalProperties: false,
        description: "How much the requests of the key may cost in each period.",
      },
    ),
  ),
  expiresAt: Type.Optional(
    time(
      "When the key expires: an ISO 8601 time, or a date, in which case the key works until the end of that day in UTC.",
    ),
  ),
  expires: Type.Optional(time("The older name of `expiresAt`.")),
  allowedIps: Type.Optional(
    Type.Array(Type.String({ refuse: refuseNetwork }), {
      minItems: 1,
      description: "Addresses and networks (10.0.0.0/8) from which the key may be used.",
    }),
  ),
};

const hash = (description: string) =>
  Type.String({
    pattern: "^sha256:[0-9a-f]{64}$",
    expected: "sha256: followed by 64 hexadecimal digits",
    secret: true,
    description,
  });

const Key = Type.Object({
  hash: hash(
    "The SHA-256 hash of the key, in hexadecimal form. The gateway does not store the key itself.",
  ),
  previous: Type.Optional(
    Type.Object(
      {
        hash: hash("The SHA-256 hash of the previous secret."),
        until: time("The time until which both secrets work."),
      },
      { description: "The previous secret, while it still works." },
    ),
  ),
  id: Type.Optional(
    Type.String({
      pattern: "^[0-9a-f]{16}$",
      description:
        "The id of the key's holder. A rotation sets it, so that the id stays the same when the secret changes.",
    }),
  ),
  ...limits,
  enabled: Type.Boolean({ default: true }),
});

export const keysSchema = Type.Record(Type.String(), Key, {
  default: {},
  description: "Client keys, by name.",
});

export const createRequest = Type.Object(
  {
    name: Type.String({
      pattern: "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$",
      expected: "at most 64 letters, digits, dots, dashes and underscores",
    }),
    ...limits,
  },
  { additionalProperties: false },
);

const orNull = <T extends TSchema>(schema: T) => Type.Optional(Type.Union([schema, Type.Null()]));

/** The body of `PATCH /keys/:name`. */
export const changeRequest = Type.Object(
  {
    models: orNull(limits.models),
    tools: orNull(limits.tools),
    requestsPerMinute: orNull(limits.requestsPerMinute),
    tokensPerMinute: orNull(limits.tokensPerMinute),
    budget: orNull(limits.budget),
    expiresAt: orNull(limits.expiresAt),
    allowedIps: orNull(limits.allowedIps),
    enabled: Type.Optional(Type.Boolean({ description: "Whether the key works." })),
  },
  { additionalProperties: false, minProperties: 1 },
);

/** The body of `POST /keys/:name/rotate`. */
export const rotateRequest = Type.Object(
  {
    overlap: Type.Optional(
      Type.Union([Type.String(), Type.Number()], {
        description:
          'How long the old secret keeps working in addition to the new one: "24h" (default), "0".',
      }),
    ),
  },
  { additionalProperties: false },
);

export type KeyConfig = Static<typeof Key>;
export type KeysConfig = Readonly<Record<string, KeyConfig>>;
