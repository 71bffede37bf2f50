/** The engine's sections of the configuration. */
import { type ConfigOf, type PluginContext, type Static, timerMs, Type } from "portico";
import { WEB_ADDRESS } from "portico/strings";

const MIB = 1024 * 1024;

const Headers = Type.Record(Type.String(), Type.String());

/** One entry of `channels`. Providers add keys of their own (`apiVersion`, `region`) through `channels.*`. */
export const ChannelConfig = Type.Object({
  provider: Type.String({
    description:
      "The provider: openai or one of its presets, anthropic, gemini, azure, bedrock, ollama, mistral, echo.",
  }),
  baseUrl: Type.Optional(
    Type.String({
      ...WEB_ADDRESS,
      description:
        "The base URL of the upstream: including /v1 for openai, and the host root for every other provider.",
    }),
  ),
  apiKey: Type.Optional(
    Type.Union([Type.String(), Type.Array(Type.String())], {
      description: "The API key, or a list of keys that the channel uses in turn.",
    }),
  ),
  headers: Type.Optional(Headers),
  proxy: Type.Optional(
    Type.String({
      ...WEB_ADDRESS,
      description:
        "The proxy, as http://[user:password@]host:port. Default: HTTPS_PROXY or HTTP_PROXY, unless NO_PROXY matches.",
    }),
  ),
  models: Type.Optional(
    Type.Array(Type.String(), {
      description:
        "The models of the channel, as exact names or patterns with *. Default: the models that the upstream lists.",
    }),
  ),
  priority: Type.Optional(
    Type.Number({ description: "Channels with a higher priority are tried first. Default: 0." }),
  ),
  weight: Type.Optional(
    Type.Number({
      minimum: 0,
      maximum: 1e9,
      description:
        "The channel's share of the requests among channels with the same priority. Default: 1.",
    }),
  ),
  timeoutMs: Type.Optional(
    timerMs({
      description: "The longest wait for the first byte, in milliseconds. Default: 300000.",
    }),
  ),
  idleTimeoutMs: Type.Optional(
    timerMs({ description: "The longest pause between bytes, in milliseconds. Default: 120000." }),
  ),
  maxEventBytes: Type.Optional(
    Type.Integer({
      minimum: 1024,
      maximum: 64 * MIB,
      description:
        "The largest size of one event of a stream, in bytes. Default: 16777216 (16 MiB).",
    }),
  ),
  maxRetries: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 10,
      description: "The number of additional attempts on this channel after a failure. Default: 2.",
    }),
  ),
  maxConcurrent: Type.Optional(
    Type.Integer({
      minimum: 1,
      description: "How many requests may be in progress at a time. Default: no limit.",
    }),
  ),
  queueTimeoutMs: Type.Optional(
    timerMs({
      minimum: 0,
      description:
        "How long a request waits if maxConcurrent is reached, in milliseconds. Default: 2000.",
    }),
  ),
  requestsPerMinute: Type.Optional(
    Type.Integer({
      minimum: 1,
      description:
        "How many attempts the channel may make in any 60 s. Above this, the router skips the channel.",
    }),
  ),
  tokensPerMinute: Type.Optional(
    Type.Integer({
      minimum: 1,
      description:
        "How many tokens the channel may use in any 60 s. Above this, the router skips the channel.",
    }),
  ),
  budget: Type.Optional(
    Type.Object(
      {
        usd: Type.Number({
          minimum: 0,
          description:
            "The budget in US dollars, calculated with the same prices as in `portico usage`.",
        }),
        per: Type.Union([Type.Literal("day"), Type.Literal("month")], {
          description: "The period of the budget: a calendar day or month in UTC.",
        }),
      },
      {
        description:
          "How much the channel may cost in a period. Above this, the router skips the channel.",
      },
    ),
  ),
  enabled: Type.Optional(
    Type.Boolean({ description: "Whether the channel is used. Default: true." }),
  ),
  streamUsage: Type.Optional(
    Type.Boolean({
      description:
        "Whether the gateway asks the upstream to report the usage of every stream, so that it can count the tokens. Default: true.",
    }),
  ),
  responses: Type.Optional(
    Type.Boolean({
      description:
        "For openai, its presets and azure: whether requests to /v1/responses go to the upstream's own /responses. Default: true for azure and OpenAI's own address.",
    }),
  ),
  allowPrivateImages: Type.Optional(
    Type.Boolean({
      description: "Whether image URLs may point to private networks. Default: false.",
    }),
  ),
});
export type ChannelConfig = Static<typeof ChannelConfig>;

/** One entry of `models`: an alias for one or several targets. */
export const AliasConfig = Type.Union([
  Type.String(),
  Type.Object({
    targets: Type.Array(Type.String(), { minItems: 1 }),
    strategy: Type.Optional(
      Type.Union(
        [
          Type.Literal("fallback"),
          Type.Literal("weighted"),
          Type.Literal("latency"),
          Type.Literal("cost"),
        ],
        {
          description:
            "How the targets are ordered. latency: the channel with the fastest first byte comes first; cost: the cheapest channel comes first.",
        },
      ),
    ),
    params: Type.Optional(
      Type.Object({
        default: Type.Optional(
          Type.Record(Type.String(), Type.Unknown(), {
            description: "Default parameters, for requests that do not set them.",
          }),
        ),
        force: Type.Optional(
          Type.Record(Type.String(), Type.Unknown(), {
            description: "Parameters that override the parameters of the request.",
          }),
        ),
        max: Type.Optional(
          Type.Record(Type.String(), Type.Number(), {
            description:
              "Upper limits of parameters. max_tokens also limits max_completion_tokens.",
          }),
        ),
      }),
    ),
    system: Type.Optional(
      Type.String({ description: "A system prompt that the gateway puts before all messages." }),
    ),
    cache: Type.Optional(
      Type.Object(
        {
          ttlMs: Type.Integer({ minimum: 1 }),
          maxEntries: Type.Integer({ minimum: 1 }),
          shared: Type.Optional(
            Type.Boolean({
              description: "Whether all client keys share one cache. Default: false.",
            }),
          ),
          always: Type.Optional(
            Type.Boolean({
              description:
                "Whether responses are cached at any temperature. By default, they are cached only at 0.",
            }),
          ),
        },
        { description: "A cache of complete responses for identical requests." },
      ),
    ),
    fallbackOn: Type.Optional(
      Type.Array(
        Type.Union([
          Type.Literal("error"),
          Type.Literal("context_length"),
          Type.Literal("content_filter"),
        ]),
        {
          description:
            "The refusals after which the router also tries the next target: `context_length`, `content_filter`. Other failures (`error`) always lead to the next target.",
        },
      ),
    ),
  }),
]);
export type AliasConfig = Static<typeof AliasConfig>;

export type Channels = Record<string, ChannelConfig>;
export type Aliases = ReadonlyMap<string, AliasConfig>;

/** The sections that the engine owns: `*` stands for the names of channels and aliases. */
export const sections = { "channels.*": ChannelConfig, "models.*": AliasConfig };
export type EngineConfig = ConfigOf<typeof sections>;
export type EngineContext = PluginContext<typeof sections>;
