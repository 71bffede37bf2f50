/** `gateway.keys` of the configuration, and the body of `POST /keys`. */
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
        "The models that the key may use: names as clients write them; `*` matches any text. Default: all models except agents.",
    }),
  ),
  tools: Type.Optional(
    Type.Array(Type.String({ minLength: 1 }), {
      description:
        "Tools that its agent turns have in addition to files, memory, web, browser and sessions: names; `*` matches any text.",
    }),
  ),
  requestsPerMinute: Type.Optional(count("How many requests the key may send in any minute.")),
  tokensPerMinute: Type.Optional(
    count("How many tokens of prompts and responses the key may use in any minute."),
  ),
  budget: Type.Optional(
    Type.Object(
      {
        // The configuration keeps longer whole numbers as texts, since they are usually ids.
        usd: Type.Number({
          minimum: 0,
          maximum: Number.MAX_SAFE_INTEGER,
          description: "US dollars.",
        }),
        per: Type.Union([Type.Literal("day"), Type.Literal("month")], {
          description: "The period of the calendar, in UTC.",
        }),
      },
      { additionalProperties: false, description: "What the key may cost in this period." },
    ),
  ),
  expiresAt: Type.Optional(
    time("A time in ISO form, or a date: the key works until that day is over, in UTC."),
  ),
  expires: Type.Optional(time("The older name of `expiresAt`.")),
  allowedIps: Type.Optional(
    Type.Array(Type.String({ refuse: refuseNetwork }), {
      minItems: 1,
      description: "Addresses and networks (10.0.0.0/8) that the key may be used from.",
    }),
  ),
};

const hash = (description: string) =>
  Type.String({
    pattern: "^sha256:[0-9a-f]{64}$",
    expected: "sha256: and 64 hexadecimal digits",
    secret: true,
    description,
  });

const Key = Type.Object({
  hash: hash("SHA-256 of the key, in hex. The gateway stores the key itself nowhere."),
  previous: Type.Optional(
    Type.Object(
      {
        hash: hash("SHA-256 of the previous secret."),
        until: time("Both secrets work until this time."),
      },
      { description: "The previous secret, as long as it still works." },
    ),
  ),
  id: Type.Optional(
    Type.String({
      pattern: "^[0-9a-f]{16}$",
      description:
        "Identifies the holder of the key, whatever its secret; written when the key is rotated.",
    }),
  ),
  ...limits,
  enabled: Type.Boolean({ default: true }),
});

export const keysSchema = Type.Record(Type.String(), Key, {
  default: {},
  description: "Keys of clients, by name.",
});

export const createRequest = Type.Object(
  {
    name: Type.String({
      pattern: "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$",
      expected: "letters, digits, dots, dashes and underscores, at most 64",
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
    enabled: Type.Optional(Type.Boolean({ description: "false: the key does not work" })),
  },
  { additionalProperties: false, minProperties: 1 },
);

/** The body of `POST /keys/:name/rotate`. */
export const rotateRequest = Type.Object(
  {
    overlap: Type.Optional(
      Type.Union([Type.String(), Type.Number()], {
        description: 'How long the old secret works beside the new one: "24h" (default), "0".',
      }),
    ),
  },
  { additionalProperties: false },
);

export type KeyConfig = Static<typeof Key>;
export type KeysConfig = Readonly<Record<string, KeyConfig>>;
