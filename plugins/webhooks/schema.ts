/** The `webhooks` section of the configuration, and the bodies of the two endpoints. */
import { refuseNetwork, type Static, timerMs, Type } from "portico";
import { deliverySchema, LONGEST_MS } from "portico/schedules";
import { weakSecretIn } from "./intake/weakness.ts";

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
    description: "Accepted requests in any window.",
  }),
  windowMs: Type.Integer({ minimum: 1, maximum: LONGEST_MS, default: 60_000 }),
});

/** Of a key's and a mapping's turns. */
const tools = Type.Optional(
  Type.Array(Type.String({ minLength: 1 }), {
    description:
      "Tools that its turns have beside files, memory, web, browser and sessions: names, * stands for anything.",
  }),
);

const key = Type.Object({
  token: secret("Bearer token of this caller."),
  rateLimit: Type.Optional(rateLimit),
  paths: Type.Optional(
    Type.Array(Type.String(), {
      description:
        "What it may call: wake, agent, names of mappings, `/` (the prefix itself), `ci-*`; default everything.",
    }),
  ),
  sessions: Type.Optional(
    Type.Array(Type.String(), {
      description: "Sessions that it may name (`ci:*`); default `webhook:<name>:*`.",
    }),
  ),
  models: Type.Optional(
    Type.Array(Type.String(), { description: "Models that it may name (`gpt-*`); default all." }),
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

/** Not blank, and no key that says what it is (`whsec_`, `whpk_`) and then has fewer than 16 or 32 bytes. */
const signingSecret = Type.String({
  pattern: "^(?!\\s*$)(?!\\s*whsec_.{0,21}$)(?!\\s*whpk_.{0,42}$)",
  expected:
    "what the sender signs with: not empty, and with 16 bytes at least after whsec_, 32 after whpk_",
  secret: true,
  description: "What the sender signs with: not empty; the key of a whsec_ has 16 bytes at least.",
});
const secrets = Type.Union([signingSecret, Type.Array(signingSecret, { minItems: 1 })]);
/** Stripe's begin with `whsec_` as well, but are no Base64: any text is a key. */
const stripeSecret = Type.String({
  pattern: "^(?!\\s*(?:whsec_)?\\s*$)",
  expected: "what Stripe signs with: not empty",
  secret: true,
});

const hmac = Type.Object({
  header: text("Header that carries the signature."),
  algorithm: Type.Optional(
    Type.Union([Type.Literal("sha1"), Type.Literal("sha256"), Type.Literal("sha512")], {
      description: "Default sha256.",
    }),
  ),
  encoding: Type.Optional(
    Type.Union([Type.Literal("hex"), Type.Literal("base64")], { description: "Default hex." }),
  ),
  prefix: Type.Optional(
    Type.String({ description: "What stands before the signature: `sha256=`." }),
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
    description: "Checks the sender's signature over the raw body; takes the place of the token.",
    refuse: weakSecretIn,
  },
);

const coalesce = Type.Object(
  {
    key: text("Template: deliveries with the same key make one turn."),
    windowMs: timerMs({ default: 30_000, description: "How long it must be quiet." }),
    maxWaitMs: timerMs({ default: 300_000, description: "From the first delivery at the latest." }),
  },
  { description: "Makes one turn of a burst." },
);

const respond = Type.Object(
  {
    status: Type.Optional(Type.Integer({ minimum: 200, maximum: 599 })),
    headers: Type.Optional(Type.Record(Type.String(), Type.String())),
    body: Type.Optional(
      Type.Unknown({ description: "A text, or JSON whose texts are templates." }),
    ),
  },
  {
    description:
      "What the sender gets: templates, with {turnId}, {sessionId}, {eventId}, and {result} beside wait.",
  },
);

const sample = Type.Object(
  {
    body: Type.Optional(Type.Unknown()),
    headers: Type.Optional(Type.Record(Type.String(), Type.String())),
    query: Type.Optional(Type.Record(Type.String(), Type.String())),
  },
  { description: "A request as it comes: placeholders that find nothing in it are errors." },
);

const bodyKind = Type.Union(
  (["json", "form", "text", "xml"] as const).map((kind) => Type.Literal(kind)),
  {
    description:
      "What the sender sends, whatever the Content-Type; default by that and the content.",
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
        "Methods that it takes; default POST. GET and HEAD are answered by respond, and start nothing, where there is one.",
    }),
  ),
  match: Type.Optional(
    Type.Record(Type.String(), condition, {
      description: "Path (body.a[0].b, headers.x, query.x) → what it must be.",
    }),
  ),
  message: Type.Optional(
    text("Template of the task: {body.a}, {headers.x}, {query.x}, {json body.a}."),
  ),
  session: Type.Optional(text("Session of the turn, a template too; default one of its own.")),
  model: Type.Optional(text("Model of the turn.")),
  channel: Type.Optional(text("Only this channel.")),
  tools,
  delivery: Type.Optional(deliverySchema),
  action: Type.Optional(Type.Union([Type.Literal("agent"), Type.Literal("wake")])),
  mode: Type.Optional(Type.Union([Type.Literal("next-heartbeat"), Type.Literal("now")])),
  verify: Type.Optional(verify),
  transform: Type.Optional(text("A module below <home>/transforms.")),
  coalesce: Type.Optional(coalesce),
  wait: Type.Optional(
    Type.Boolean({ description: "Answer when the turn has ended, with its result." }),
  ),
  respond: Type.Optional(respond),
  sample: Type.Optional(sample),
});

export const webhooksSchema = Type.Object(
  {
    enabled: Type.Optional(
      Type.Boolean({
        description:
          "Turns webhooks on. Default: on where there is a token, a key or a verified mapping.",
      }),
    ),
    token: Type.Optional(secret("Shared secret of the callers.")),
    path: Type.String({
      default: "/hooks",
      pattern: "^(/[A-Za-z0-9._~-]+)+/?$",
      expected: "a path like /hooks",
      description: "Prefix of the endpoints.",
    }),
    maxBodyBytes: Type.Integer({ minimum: 1, default: 1024 * 1024 }),
    rateLimit,
    keys: Type.Record(Type.String(), key, { default: {}, description: "Named tokens." }),
    allowedIps: Type.Array(Type.String({ refuse: refuseNetwork }), {
      default: [],
      description: "Addresses or networks (CIDR); none: all.",
    }),
    transformTimeoutMs: timerMs({ default: 5000 }),
    log: Type.Object({
      keep: Type.Integer({
        minimum: 1,
        default: 10_000,
        description: "Accepted deliveries that the log keeps.",
      }),
      keepRefused: Type.Integer({
        minimum: 1,
        default: 200,
        description: "Refused requests that it keeps.",
      }),
    }),
    mappings: Type.Record(Type.String(), mapping, {
      default: {},
      description: "Name → rule; the first that matches.",
    }),
  },
  { description: "Endpoints for events from outside systems." },
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
  /** `wake`, `agent`, a mapping's name; absent: the prefix itself. */
  path: Type.Optional(Type.String()),
  /** They take the place of those of the mapping's sample, whose others stay. */
  headers: Type.Optional(Type.Record(Type.String(), Type.String())),
  query: Type.Optional(Type.Record(Type.String(), Type.String())),
  /** Absent: the sample's. */
  body: Type.Optional(Type.Unknown()),
  /**
   * Tried in place of what the mapping has; an empty text for none. Of a mapping that does not exist yet, it is all that
   * there is.
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
