/** The `webhooks` section of the configuration, and the bodies of the two endpoints. */
import { refuseNetwork, type Static, timerMs, Type } from "portico";
import { deliverySchema, LONGEST_MS } from "portico/schedules";
import { findWeakSecret } from "./intake/weakness.ts";

const text = (description: string) => Type.String({ minLength: 1, description });
const secret = (description: string) =>
  Type.String({
    minLength: 1,
    pattern: "^\\S+$",
    expected: "free of white space",
    secret: true,
    description,
  });

const rateLimit = Type.Object({
  maxRequests: Type.Integer({
    minimum: 1,
    default: 1000,
    description: "How many requests the gateway accepts in any period of windowMs milliseconds.",
  }),
  windowMs: Type.Integer({ minimum: 1, maximum: LONGEST_MS, default: 60_000 }),
});

/** The tools of the turns of a key or a mapping. */
const tools = Type.Optional(
  Type.Array(Type.String({ minLength: 1 }), {
    description:
      "The names of tools that the turns may use in addition to files, memory, web, browser and sessions; * matches any text.",
  }),
);

const key = Type.Object({
  token: secret("The bearer token of this caller."),
  rateLimit: Type.Optional(rateLimit),
  paths: Type.Optional(
    Type.Array(Type.String(), {
      description:
        "The paths that the caller may use: wake, agent, names of mappings, `/` (the webhooks' base path itself), patterns such as `ci-*`. Default: all paths.",
    }),
  ),
  sessions: Type.Optional(
    Type.Array(Type.String(), {
      description:
        "The sessions that the caller may use, such as `ci:*`. Default: `webhook:<name>:*`.",
    }),
  ),
  models: Type.Optional(
    Type.Array(Type.String(), {
      description: "The models that the caller may use, such as `gpt-*`. Default: all models.",
    }),
  ),
  tools,
});

const condition = Type.Union([
  Type.String(),
  Type.Number(),
  Type.Boolean(),
  Type.Null(),
  Type.Object({
    in: Type.Array(Type.Union([Type.String(), Type.Number(), Type.Boolean(), Type.Null()])),
  }),
  Type.Object({ prefix: Type.String() }),
  Type.Object({ regex: Type.String() }),
  Type.Object({ exists: Type.Boolean() }),
]);

/** A secret that is not blank, and has at least 16 bytes after `whsec_` or 32 after `whpk_`. */
const signingSecret = Type.String({
  pattern: "^(?!\\s*$)(?!\\s*whsec_.{0,21}$)(?!\\s*whpk_.{0,42}$)",
  expected:
    "a non-empty signing secret; after a whsec_ prefix at least 16 bytes, after whpk_ at least 32",
  secret: true,
  description:
    "The secret that the sender signs with. It must not be empty; after the prefix whsec_, it must contain at least 16 bytes.",
});
const secrets = Type.Union([signingSecret, Type.Array(signingSecret, { minItems: 1 })]);
/** Stripe's secrets also begin with `whsec_`, but are not Base64, so that any text is valid. */
const stripeSecret = Type.String({
  pattern: "^(?!\\s*(?:whsec_)?\\s*$)",
  expected: "a non-empty signing secret of Stripe",
  secret: true,
});

const hmac = Type.Object({
  header: text("The header that contains the signature."),
  algorithm: Type.Optional(
    Type.Union([Type.Literal("sha1"), Type.Literal("sha256"), Type.Literal("sha512")], {
      description: "The hash algorithm. Default: sha256.",
    }),
  ),
  encoding: Type.Optional(
    Type.Union([Type.Literal("hex"), Type.Literal("base64")], {
      description: "The encoding of the signature. Default: hex.",
    }),
  ),
  prefix: Type.Optional(
    Type.String({ description: "The prefix of the signature, such as `sha256=`." }),
  ),
  secret: Type.Optional(secrets),
});

const scheme = Type.Union(
  (["github", "gitlab", "stripe", "slack", "linear", "shopify", "standard"] as const).map((name) =>
    Type.Literal(name),
  ),
);

const verify = Type.Union(
  [
    Type.Object({
      scheme: Type.Optional(Type.Union([scheme, Type.Object({ hmac })])),
      hmac: Type.Optional(hmac),
      secret: Type.Optional(secrets),
    }),
    Type.Object({
      scheme: Type.Literal("stripe"),
      hmac: Type.Optional(hmac),
      secret: Type.Union([stripeSecret, Type.Array(stripeSecret, { minItems: 1 })]),
    }),
  ],
  {
    description:
      "How the gateway checks the sender's signature over the raw body. The signature replaces the token.",
    refuse: findWeakSecret,
  },
);

const coalesce = Type.Object(
  {
    key: text(
      "A template for the key of the burst. Deliveries with the same key are combined into one turn.",
    ),
    windowMs: timerMs({
      default: 30_000,
      description:
        "The turn starts when no further delivery has arrived for this time, in milliseconds.",
    }),
    maxWaitMs: timerMs({
      default: 300_000,
      description:
        "The longest time that the turn waits after the first delivery, in milliseconds.",
    }),
  },
  { description: "Combines a burst of deliveries into one turn." },
);

const respond = Type.Object(
  {
    status: Type.Optional(Type.Integer({ minimum: 200, maximum: 599 })),
    headers: Type.Optional(Type.Record(Type.String(), Type.String())),
    body: Type.Optional(
      Type.Unknown({ description: "A string template, or JSON whose strings are templates." }),
    ),
  },
  {
    description:
      "The response to the sender. Its strings are templates that can contain {turnId}, {sessionId}, {eventId} and, if `wait` is true, {result}.",
  },
);

const sample = Type.Object(
  {
    body: Type.Optional(Type.Unknown()),
    headers: Type.Optional(Type.Record(Type.String(), Type.String())),
    query: Type.Optional(Type.Record(Type.String(), Type.String())),
  },
  { description: "A sample request. A placeholder that has no value in the sample is an error." },
);

const bodyKind = Type.Union(
  (["json", "form", "text", "xml"] as const).map((kind) => Type.Literal(kind)),
  {
    description:
      "The format of the body, regardless of Content-Type. By default, the gateway detects the format from Content-Type and content.",
  },
);

const method = Type.Union(
  (["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"] as const).map((name) => Type.Literal(name)),
);

const mapping = Type.Object({
  enabled: Type.Optional(Type.Boolean()),
  body: Type.Optional(bodyKind),
  methods: Type.Optional(
    Type.Array(method, {
      minItems: 1,
      description:
        "The methods that the mapping accepts. Default: POST. If `respond` is set, GET and HEAD receive that response and start nothing.",
    }),
  ),
  match: Type.Optional(
    Type.Record(Type.String(), condition, {
      description:
        "The conditions that a request must meet: each key is a path (body.a[0].b, headers.x, query.x), with the value that the request must have at this path.",
    }),
  ),
  message: Type.Optional(
    text(
      "A template for the task, with placeholders such as {body.a}, {headers.x}, {query.x}, {json body.a}.",
    ),
  ),
  session: Type.Optional(
    text(
      "The session of the turn, which may be a template. Default: a separate session for each turn.",
    ),
  ),
  model: Type.Optional(text("The model of the turn.")),
  channel: Type.Optional(text("The turn uses only this channel.")),
  tools,
  delivery: Type.Optional(deliverySchema),
  action: Type.Optional(Type.Union([Type.Literal("agent"), Type.Literal("wake")])),
  mode: Type.Optional(Type.Union([Type.Literal("next-heartbeat"), Type.Literal("now")])),
  verify: Type.Optional(verify),
  transform: Type.Optional(
    text("The path of a module in <home>/transforms that transforms the request."),
  ),
  coalesce: Type.Optional(coalesce),
  wait: Type.Optional(
    Type.Boolean({
      description:
        "Whether the gateway waits for the end of the turn and responds with its result.",
    }),
  ),
  respond: Type.Optional(respond),
  sample: Type.Optional(sample),
});

export const webhooksSchema = Type.Object(
  {
    enabled: Type.Optional(
      Type.Boolean({
        description:
          "Whether the gateway accepts webhooks. Default: true if there is a token, a key or a mapping that verifies signatures.",
      }),
    ),
    token: Type.Optional(secret("The token that all callers share.")),
    path: Type.String({
      default: "/hooks",
      pattern: "^(/[A-Za-z0-9._~-]+)+/?$",
      expected: "a path like /hooks",
      description:
        "The base path of the webhooks, with which the paths of all their endpoints begin.",
    }),
    maxBodyBytes: Type.Integer({ minimum: 1, default: 1024 * 1024 }),
    rateLimit,
    keys: Type.Record(Type.String(), key, {
      default: {},
      description: "Callers with tokens of their own, by name.",
    }),
    allowedIps: Type.Array(Type.String({ refuse: refuseNetwork }), {
      default: [],
      description: "Addresses or networks (CIDR) that may send webhooks. An empty list allows all.",
    }),
    transformTimeoutMs: timerMs({ default: 5000 }),
    log: Type.Object({
      keep: Type.Integer({
        minimum: 1,
        default: 10_000,
        description: "The largest number of accepted deliveries in the log.",
      }),
      keepRefused: Type.Integer({
        minimum: 1,
        default: 200,
        description: "The largest number of refused requests in the log.",
      }),
    }),
    mappings: Type.Record(Type.String(), mapping, {
      default: {},
      description: "Mappings by name. The first mapping that matches a request handles it.",
    }),
  },
  { description: "Webhooks: endpoints for events from other systems." },
);

export type WebhooksConfig = Static<typeof webhooksSchema>;
export type MappingConfig = Static<typeof mapping>;
export type VerifyConfig = Static<typeof verify>;
export type HmacConfig = Static<typeof hmac>;
export type KeyConfig = Static<typeof key>;
export type RespondConfig = Static<typeof respond>;
export type SampleConfig = Static<typeof sample>;
export type Condition = Static<typeof condition>;

/** The body of `POST <prefix>/wake`. */
export const wakeRequest = Type.Object({
  text: Type.String({ minLength: 1 }),
  metadata: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  mode: Type.Optional(Type.Union([Type.Literal("next-heartbeat"), Type.Literal("now")])),
});

/** The body of `POST <prefix>/agent`. */
export const agentRequest = Type.Object({
  message: Type.String({ minLength: 1 }),
  model: Type.Optional(Type.String({ minLength: 1 })),
  channel: Type.Optional(Type.String({ minLength: 1 })),
  session: Type.Optional(Type.String({ minLength: 1, maxLength: 256 })),
  context: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  delivery: Type.Optional(deliverySchema),
  wait: Type.Optional(Type.Boolean()),
});

/** The body of `POST /webhooks/test`. */
export const testRequest = Type.Object({
  /** `wake`, `agent` or the name of a mapping; if absent, the base path itself. */
  path: Type.Optional(Type.String()),
  /** Headers that replace those of the same name in the mapping's sample. */
  headers: Type.Optional(Type.Record(Type.String(), Type.String())),
  query: Type.Optional(Type.Record(Type.String(), Type.String())),
  /** If absent, the body of the sample. */
  body: Type.Optional(Type.Unknown()),
  /**
   * Changes to try in place of the mapping's settings; an empty text removes a setting. For a mapping that does not exist
   * yet, these are its only settings.
   */
  change: Type.Optional(
    Type.Object(
      {
        match: Type.Optional(Type.Record(Type.String(), condition)),
        message: Type.Optional(Type.String()),
        session: Type.Optional(Type.String()),
      },
      { additionalProperties: false },
    ),
  ),
});
