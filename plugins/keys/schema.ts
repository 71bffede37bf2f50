/** `gateway.keys` of the configuration, and the body of `POST /keys`. */
import { type Static, Type } from "portico";

const count = (description: string) =>
  Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER, description });

const limits = {
  models: Type.Optional(
    Type.Array(Type.String({ minLength: 1 }), {
      description:
        "What it may use: names as clients write them, `*` stands for anything. Left out: everything but the agent.",
    }),
  ),
  tools: Type.Optional(
    Type.Array(Type.String({ minLength: 1 }), {
      description:
        "Tools that its agent turns have beside files, memory, web, browser and sessions: names, `*` stands for anything.",
    }),
  ),
  requestsPerMinute: Type.Optional(count("Requests in any minute.")),
  tokensPerMinute: Type.Optional(count("Tokens of prompts and answers in any minute.")),
  budget: Type.Optional(
    Type.Object(
      {
        usd: Type.Number({ minimum: 0, description: "US dollars." }),
        per: Type.Union([Type.Literal("day"), Type.Literal("month")], {
          description: "Of the calendar, in UTC.",
        }),
      },
      { description: "What it may cost." },
    ),
  ),
  expires: Type.Optional(
    Type.String({
      pattern: "^\\d{4}-\\d{2}-\\d{2}(T.+)?$",
      expected: "a date like 2026-12-31, or a time like 2026-12-31T12:00Z",
      refuse: (text: unknown) =>
        Number.isNaN(Date.parse(String(text))) ? "is not a date" : undefined,
      description: "A date (the key works until it is over, in UTC) or a time in ISO form.",
    }),
  ),
};

const Key = Type.Object({
  hash: Type.String({
    pattern: "^sha256:[0-9a-f]{64}$",
    expected: "sha256: and 64 hexadecimal digits",
    secret: true,
    description: "SHA-256 of the key, in hex. The key itself is kept nowhere.",
  }),
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

export type KeyConfig = Static<typeof Key>;
export type KeysConfig = Readonly<Record<string, KeyConfig>>;
