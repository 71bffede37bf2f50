/** The engine's sections of the configuration. */
import { type ConfigOf, type PluginContext, type Static, timerMs, Type } from "portico";
import { WEB_ADDRESS } from "portico/strings";

const MIB = 1024 * 1024;

const Headers = Type.Record(Type.String(), Type.String());

/** One entry of `channels`. Providers add keys of their own (`apiVersion`, `region`) through `channels.*`. */
export const ChannelConfig = Type.Object({
  provider: Type.String({
    description:
      "openai or one of its presets, anthropic, gemini, azure, bedrock, ollama, mistral, echo",
  }),
  baseUrl: Type.Optional(
    Type.String({
      ...WEB_ADDRESS,
      description: "openai: with its /v1; every other provider: the host root",
    }),
  ),
  apiKey: Type.Optional(
    Type.Union([Type.String(), Type.Array(Type.String())], {
      description: "with a list, the channel uses the keys in turn",
    }),
  ),
  headers: Type.Optional(Headers),
  proxy: Type.Optional(
    Type.String({
      ...WEB_ADDRESS,
      description:
        "http://[user:password@]host:port; default HTTPS_PROXY or HTTP_PROXY, less NO_PROXY",
    }),
  ),
  models: Type.Optional(
    Type.Array(Type.String(), {
      description: "exact names or * patterns; default: the models that the upstream lists",
    }),
  ),
  priority: Type.Optional(Type.Number({ description: "higher first; default 0" })),
  weight: Type.Optional(
    Type.Number({ minimum: 0, maximum: 1e9, description: "share within one priority; default 1" }),
  ),
  timeoutMs: Type.Optional(
    timerMs({ description: "the longest wait for the first byte; default 300000" }),
  ),
  idleTimeoutMs: Type.Optional(
    timerMs({ description: "the longest pause between bytes; default 120000" }),
  ),
  maxEventBytes: Type.Optional(
    Type.Integer({
      minimum: 1024,
      maximum: 64 * MIB,
      description: "the largest single event of a stream that is read; default 16777216 (16 MiB)",
    }),
  ),
  maxRetries: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 10,
      description: "further attempts on this channel; default 2",
    }),
  ),
  maxConcurrent: Type.Optional(
    Type.Integer({ minimum: 1, description: "requests at once; default without limit" }),
  ),
  queueTimeoutMs: Type.Optional(
    timerMs({ minimum: 0, description: "how long a request waits for a free place; default 2000" }),
  ),
  requestsPerMinute: Type.Optional(
    Type.Integer({
      minimum: 1,
      description: "attempts in any 60 s; above this, the router skips the channel",
    }),
  ),
  tokensPerMinute: Type.Optional(
    Type.Integer({
      minimum: 1,
      description: "tokens in any 60 s; above this, the router skips the channel",
    }),
  ),
  budget: Type.Optional(
    Type.Object(
      {
        usd: Type.Number({
          minimum: 0,
          description: "US dollars, by the prices of `portico usage`",
        }),
        per: Type.Union([Type.Literal("day"), Type.Literal("month")], {
          description: "of the calendar, in UTC",
        }),
      },
      { description: "what the channel may cost; above this, the router skips it" },
    ),
  ),
  enabled: Type.Optional(Type.Boolean({ description: "default true" })),
  streamUsage: Type.Optional(
    Type.Boolean({
      description: "ask the upstream for the usage of every stream, to count it; default true",
    }),
  ),
  responses: Type.Optional(
    Type.Boolean({
      description:
        "openai, its presets, azure: requests to /v1/responses go to the upstream's own /responses; default true for azure and OpenAI's own address",
    }),
  ),
  allowPrivateImages: Type.Optional(
    Type.Boolean({ description: "image URLs may point into private networks; default false" }),
  ),
});
export type ChannelConfig = Static<typeof ChannelConfig>;

/** One entry of `models`: another name for a target, or for several. */
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
            "latency: the channel with the fastest first byte comes first; cost: the cheapest channel comes first",
        },
      ),
    ),
    params: Type.Optional(
      Type.Object({
        default: Type.Optional(
          Type.Record(Type.String(), Type.Unknown(), {
            description: "for requests that set none",
          }),
        ),
        force: Type.Optional(
          Type.Record(Type.String(), Type.Unknown(), {
            description: "parameters that override those of the request",
          }),
        ),
        max: Type.Optional(
          Type.Record(Type.String(), Type.Number(), {
            description: "upper limits of parameters; max_tokens also limits max_completion_tokens",
          }),
        ),
      }),
    ),
    system: Type.Optional(
      Type.String({ description: "a text that the gateway puts before all messages" }),
    ),
    cache: Type.Optional(
      Type.Object(
        {
          ttlMs: Type.Integer({ minimum: 1 }),
          maxEntries: Type.Integer({ minimum: 1 }),
          shared: Type.Optional(
            Type.Boolean({ description: "whether all client keys share one cache; default false" }),
          ),
          always: Type.Optional(
            Type.Boolean({
              description: "whether to cache at any temperature; default: only at 0",
            }),
          ),
        },
        { description: "keeps complete responses for identical requests" },
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
          description: "what else, besides an error, makes the router try the next target",
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
