import { type Static, Type } from "portico";
import { closed, entryFields, entryName } from "portico/schedules";

export const Source = Type.Object(
  {
    kind: Type.Union([
      Type.Literal("http"),
      Type.Literal("json"),
      Type.Literal("feed"),
      Type.Literal("html"),
      Type.Literal("file"),
    ]),
    url: Type.Optional(Type.String({ minLength: 1, maxLength: 4_000 })),
    path: Type.Optional(
      Type.String({
        minLength: 1,
        description: "For file: a path in the workspace or one of polls.roots.",
      }),
    ),
    headers: Type.Optional(Type.Record(Type.String(), Type.String())),
    method: Type.Optional(
      Type.Union(
        ["GET", "POST", "PUT", "QUERY"].map((method) => Type.Literal(method)),
        { description: "The method of the request. Default: GET, or POST with a body." },
      ),
    ),
    body: Type.Optional(
      Type.Union(
        [
          Type.String({ maxLength: 1_000_000 }),
          Type.Record(Type.String(), Type.Unknown()),
          Type.Array(Type.Unknown()),
        ],
        {
          description:
            "The body of the request, such as a GraphQL query. An object is sent as JSON.",
        },
      ),
    ),
    browser: Type.Optional(
      Type.Boolean({
        description: "For html and http: whether to check the page as the browser renders it.",
      }),
    ),
    items: Type.Optional(
      Type.String({
        description: "For json: the path of the list, such as data.items or results[0].rows.",
      }),
    ),
    key: Type.Optional(
      Type.String({ description: "For json: the field that identifies an item, such as id" }),
    ),
    selector: Type.Optional(
      Type.String({
        description: "For html: a CSS selector of the part to watch. Default: the whole page.",
      }),
    ),
    ignore: Type.Optional(
      Type.Array(Type.String(), {
        maxItems: 50,
        description:
          "For html, http and file: regular expressions for lines that the check ignores.",
      }),
    ),
    remove: Type.Optional(
      Type.Array(Type.String(), {
        maxItems: 50,
        description: "For html: CSS selectors of parts that the check ignores.",
      }),
    ),
    match: Type.Optional(
      Type.String({
        description: "For a directory: only files whose name matches this pattern, such as *.csv.",
      }),
    ),
  },
  closed,
);
export type Source = Static<typeof Source>;

const definition = {
  ...entryFields,
  every: Type.Optional(
    Type.Union([Type.String(), Type.Integer()], {
      description: "The interval between checks: 5m, 1h, or milliseconds. Default: 5m.",
    }),
  ),
  schedule: Type.Optional(
    Type.Unknown({ description: "A schedule like that of a cron job, in place of `every`." }),
  ),
  source: Source,
  payload: Type.Optional(
    Type.Unknown({
      description:
        "What each new item starts: a payload like that of a cron job, with the placeholders {item.title}, {diff}, {url}, {count}, {name}.",
    }),
  ),
  fireOnFirst: Type.Optional(
    Type.Boolean({
      description:
        "Whether the first check reports the items that it finds. By default, the first check only remembers the items.",
    }),
  ),
  maxItems: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 1_000,
      description:
        "How many items of one check are reported separately. One summary reports the others.",
    }),
  ),
  timeoutMs: Type.Optional(Type.Integer({ minimum: 1, maximum: 600_000 })),
  maxBytes: Type.Optional(Type.Integer({ minimum: 1, maximum: 104_857_600 })),
  tools: Type.Optional(
    Type.Array(Type.String({ minLength: 1 }), {
      description:
        "The names of tools that the poll's turns have in addition to files, memory, web, browser and sessions; * matches any text.",
    }),
  ),
  allowPrivateNetwork: Type.Optional(
    Type.Boolean({
      description: "Whether the poll may reach private addresses, including through redirects.",
    }),
  ),
};

export const NewPoll = Type.Object({ ...entryName, ...definition }, closed);
export const PollChange = Type.Partial(NewPoll, closed);
export const ConfiguredPoll = Type.Object(definition, closed);

export type NewPoll = Static<typeof NewPoll>;
export type PollChange = Static<typeof PollChange>;
export type ConfiguredPoll = Static<typeof ConfiguredPoll>;

export const PollsConfig = Type.Object(
  {
    enabled: Type.Boolean({
      default: true,
      description: "Whether polls run. If this is false, they can still be listed and edited.",
    }),
    allowPrivateNetwork: Type.Boolean({
      default: false,
      description: "Whether polls may reach private addresses.",
    }),
    allowedHostnames: Type.Array(Type.String(), {
      default: [],
      description:
        "Host names that may resolve to private addresses even if polls otherwise may reach only public ones.",
    }),
    hostnameAllowlist: Type.Array(Type.String(), {
      default: [],
      description: "If this list is not empty, polls reach only these hosts.",
    }),
    roots: Type.Array(Type.String(), {
      default: [],
      description: "Directories that file polls may read in addition to the workspace.",
    }),
    maxConcurrent: Type.Integer({ default: 8, minimum: 1, maximum: 100 }),
    maxItems: Type.Integer({ default: 20, minimum: 1, maximum: 1_000 }),
    maxBytes: Type.Integer({ default: 5_242_880, minimum: 1, maximum: 104_857_600 }),
    timeoutMs: Type.Integer({ default: 30_000, minimum: 1, maximum: 600_000 }),
    settleMs: Type.Integer({
      default: 1_000,
      minimum: 0,
      maximum: 60_000,
      description: "How long a file must stay unchanged before a check reads it, in milliseconds.",
    }),
    keepRuns: Type.Integer({
      default: 100,
      minimum: 1,
      maximum: 10_000,
      description: "How many checks the history of each poll keeps.",
    }),
    entries: Type.Record(Type.String(), ConfiguredPoll, {
      default: {},
      description: "Polls by name. Over HTTP they are read-only.",
    }),
  },
  {
    ...closed,
    default: {},
    description: "Pages, feeds, APIs and files that the gateway checks for something new.",
  },
);
export type PollsConfig = Static<typeof PollsConfig>;

/** The schemas of the routes of polls. */
export const POLLS = {
  noun: "poll",
  plural: "polls",
  create: NewPoll,
  change: PollChange,
  view: {
    source: Type.Object(
      { kind: Type.String() },
      { description: "What the poll checks: the kind of source, and the settings of that kind" },
    ),
    origin: Type.String({ description: "Where the poll was created: config, api or agent" }),
  },
};
