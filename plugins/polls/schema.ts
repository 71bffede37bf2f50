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
      Type.String({ minLength: 1, description: "file: below the workspace or one of polls.roots" }),
    ),
    headers: Type.Optional(Type.Record(Type.String(), Type.String())),
    method: Type.Optional(
      Type.Union(
        ["GET", "POST", "PUT", "QUERY"].map((method) => Type.Literal(method)),
        { description: "Default GET; POST with a body" },
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
          description: "What is sent, such as a GraphQL query; an object is sent as JSON",
        },
      ),
    ),
    browser: Type.Optional(
      Type.Boolean({ description: "html, http: the page as the browser renders it" }),
    ),
    items: Type.Optional(
      Type.String({
        description: "json: where the list is, such as data.items or results[0].rows",
      }),
    ),
    key: Type.Optional(
      Type.String({ description: "json: the field that identifies an item, such as id" }),
    ),
    selector: Type.Optional(
      Type.String({ description: "html: a CSS selector; default the whole page" }),
    ),
    ignore: Type.Optional(
      Type.Array(Type.String(), {
        maxItems: 50,
        description: "html, http, file: the check ignores lines that match one of these patterns",
      }),
    ),
    remove: Type.Optional(
      Type.Array(Type.String(), {
        maxItems: 50,
        description: "html: selectors of parts that the check ignores",
      }),
    ),
    match: Type.Optional(
      Type.String({ description: "file, a directory: only names that match, such as *.csv" }),
    ),
  },
  closed,
);
export type Source = Static<typeof Source>;

const definition = {
  ...entryFields,
  every: Type.Optional(
    Type.Union([Type.String(), Type.Integer()], {
      description: "5m, 1h, or milliseconds; default 5m",
    }),
  ),
  schedule: Type.Optional(
    Type.Unknown({ description: "Instead of `every`: a schedule such as a cron job has" }),
  ),
  source: Source,
  payload: Type.Optional(
    Type.Unknown({
      description:
        "The same as for a cron job, with the placeholders {item.title}, {diff}, {url}, {count}, {name}",
    }),
  ),
  fireOnFirst: Type.Optional(
    Type.Boolean({ description: "The first check also reports every item that it finds" }),
  ),
  maxItems: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 1_000,
      description: "How many items of one check are reported singly; the others become one summary",
    }),
  ),
  timeoutMs: Type.Optional(Type.Integer({ minimum: 1, maximum: 600_000 })),
  maxBytes: Type.Optional(Type.Integer({ minimum: 1, maximum: 104_857_600 })),
  tools: Type.Optional(
    Type.Array(Type.String({ minLength: 1 }), {
      description:
        "Tools that its turns have in addition to files, memory, web, browser and sessions: names; * matches any text",
    }),
  ),
  allowPrivateNetwork: Type.Optional(
    Type.Boolean({ description: "This poll may reach private addresses, also after redirects" }),
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
      description: "false: no poll runs; polls can still be listed and edited",
    }),
    allowPrivateNetwork: Type.Boolean({
      default: false,
      description: "Polls may reach private addresses",
    }),
    allowedHostnames: Type.Array(Type.String(), {
      default: [],
      description: "Hosts that may have private addresses",
    }),
    hostnameAllowlist: Type.Array(Type.String(), {
      default: [],
      description: "If not empty, only these hosts",
    }),
    roots: Type.Array(Type.String(), {
      default: [],
      description: "Directories that file polls may read, in addition to the workspace",
    }),
    maxConcurrent: Type.Integer({ default: 8, minimum: 1, maximum: 100 }),
    maxItems: Type.Integer({ default: 20, minimum: 1, maximum: 1_000 }),
    maxBytes: Type.Integer({ default: 5_242_880, minimum: 1, maximum: 104_857_600 }),
    timeoutMs: Type.Integer({ default: 30_000, minimum: 1, maximum: 600_000 }),
    settleMs: Type.Integer({
      default: 1_000,
      minimum: 0,
      maximum: 60_000,
      description: "The check waits until a file has not changed for this time",
    }),
    keepRuns: Type.Integer({
      default: 100,
      minimum: 1,
      maximum: 10_000,
      description: "History kept per poll",
    }),
    entries: Type.Record(Type.String(), ConfiguredPoll, {
      default: {},
      description: "Polls by name; read-only over HTTP",
    }),
  },
  {
    ...closed,
    default: {},
    description: "Pages, feeds, APIs and files that are checked for what is new.",
  },
);
export type PollsConfig = Static<typeof PollsConfig>;

/** What the routes of polls take and return. */
export const POLLS = {
  noun: "poll",
  plural: "polls",
  create: NewPoll,
  change: PollChange,
  view: {
    source: Type.Object(
      { kind: Type.String() },
      { description: "What the poll checks: its kind, and the members of that kind" },
    ),
    origin: Type.String({ description: "config, api or agent" }),
  },
};
