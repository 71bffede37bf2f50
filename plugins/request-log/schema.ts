/** What this plugin has in the configuration. */
import { type Static, Type } from "portico";

const names = (description: string) =>
  Type.Array(Type.String({ minLength: 1 }), { default: [], description });

export const requestsSchema = Type.Object(
  {
    keep: Type.Integer({
      minimum: 0,
      maximum: 1_000_000,
      default: 5000,
      description: "How many of the newest requests each process keeps; 0 keeps none.",
    }),
    keepBytes: Type.Integer({
      minimum: 64 * 1024,
      maximum: 4 * 1024 ** 3,
      default: 32 * 1024 * 1024,
      description: "Approximately how much memory they may use in each process.",
    }),
    keepHours: Type.Number({
      exclusiveMinimum: 0,
      maximum: 24 * 366,
      default: 72,
      description: "How long a request is kept.",
    }),
  },
  { description: "What happened to single requests." },
);

export const contentSchema = Type.Union(
  [
    Type.Boolean(),
    Type.Object({
      keys: names("Client keys whose prompts and responses are kept."),
      channels: names("Channels whose prompts and responses are kept."),
    }),
  ],
  {
    default: false,
    description:
      "Whether the gateway keeps prompts, responses and the changes of hooks with each request: true for all requests, or only for these keys and channels.",
  },
);

export type RequestsConfig = Static<typeof requestsSchema>;
export type ContentConfig = Static<typeof contentSchema>;

const text = (description: string) => Type.Optional(Type.String({ description }));

/** The query of `GET /requests`, for listings. */
export const querySchema = Type.Object({
  key: text("Only of this client key; empty: of none."),
  model: text("Only this model, as the client or the upstream names it."),
  channel: text("Only those that tried this channel."),
  status: text("Only this status (429) or class (4xx)."),
  outcome: text("Only ok, failed, refused or cancelled ones."),
  principal: text("Only of this principal."),
  tag: text("Only with this tag."),
  hook: text("Only those that this hook ran on."),
  id: text("Only those whose id contains this text."),
  since: text("A date, milliseconds since 1970, or how long ago (90m)."),
  until: text("A date, milliseconds since 1970, or how long ago."),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000, default: 50 })),
  before: text("The `next` of the previous page."),
});
