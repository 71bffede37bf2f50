/** The plugin's sections of the configuration. */
import { type Static, Type } from "portico";

const names = (description: string) =>
  Type.Array(Type.String({ minLength: 1 }), { default: [], description });

export const requestsSchema = Type.Object(
  {
    keep: Type.Integer({
      minimum: 0,
      maximum: 1_000_000,
      default: 5000,
      description: "How many of the newest requests each process stores; 0 stores none.",
    }),
    keepBytes: Type.Integer({
      minimum: 64 * 1024,
      maximum: 4 * 1024 ** 3,
      default: 32 * 1024 * 1024,
      description:
        "Approximately how many bytes of memory the stored requests may use in each process.",
    }),
    keepHours: Type.Number({
      exclusiveMinimum: 0,
      maximum: 24 * 366,
      default: 72,
      description: "The number of hours for which a request is stored.",
    }),
  },
  { description: "Details of individual requests, which the gateway stores in memory." },
);

export const contentSchema = Type.Union(
  [
    Type.Boolean(),
    Type.Object({
      keys: names("Client keys whose prompts and responses are stored."),
      channels: names("Channels whose prompts and responses are stored."),
    }),
  ],
  {
    default: false,
    description:
      "Whether the gateway stores the prompt, the response and any changes made by hooks along with each request: true for all requests, or an object that names keys and channels.",
  },
);

export type RequestsConfig = Static<typeof requestsSchema>;
export type ContentConfig = Static<typeof contentSchema>;

const text = (description: string) => Type.Optional(Type.String({ description }));

/** The query of `GET /requests`, for the description of the route. */
export const querySchema = Type.Object({
  key: text("Only requests of this client key. An empty string selects requests without a key."),
  model: text("Only requests for this model, as the client or the upstream names it."),
  channel: text("Only requests that tried this channel."),
  status: text("Only requests with this status (429) or class of statuses (4xx)."),
  outcome: text("Only requests with this outcome: ok, failed, refused or cancelled."),
  principal: text("Only requests of this principal."),
  tag: text("Only requests with this tag."),
  hook: text("Only requests on which this hook ran."),
  id: text("Only requests whose id contains this text."),
  since: text(
    "Only requests from this time on: a date, milliseconds since 1970, or how long ago, such as 90m.",
  ),
  until: text(
    "Only requests up to this time: a date, milliseconds since 1970, or how long ago, such as 90m.",
  ),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000, default: 50 })),
  before: text("The `next` value of the previous page."),
});
