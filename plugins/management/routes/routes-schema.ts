/** The schemas of the management routes. */
import { type RouteOptions, Type } from "portico";
import { AnyObject, choice, jsonResponse, limitField } from "portico/openapi";

const owner = { access: "gateway" } as const;
const closed = { additionalProperties: false } as const;
const Text = Type.Optional(Type.String());
const YesOrNo = Type.Optional(choice(["true", "false"]));

export const LEVELS = ["trace", "debug", "info", "warn", "error", "fatal"] as const;

export const logsQuery = Type.Object({
  lines: Type.Optional(
    Type.Integer({ minimum: 0, default: 100, description: "The number of lines" }),
  ),
  level: Type.Optional(
    Type.Union(
      LEVELS.map((level) => Type.Literal(level)),
      { default: "trace", description: "Only lines of this level and above" },
    ),
  ),
  follow: YesOrNo,
});
const dryRun = Type.Object({ dryRun: YesOrNo });

// configuration

const Path = Type.Array(Type.Union([Type.String(), Type.Integer({ minimum: 0 })]), { minItems: 1 });
const Edit = Type.Union([
  Type.Object({ path: Path, value: Type.Unknown() }, closed),
  Type.Object({ path: Path, remove: Type.Literal(true) }, closed),
]);

export const keyChange = Type.Object(
  { key: Type.String({ minLength: 1 }), value: Type.Optional(Type.Unknown()) },
  closed,
);
export const patch = Type.Union([
  Type.Object({ path: Path, members: Type.Record(Type.String(), Type.Unknown()) }, closed),
  Type.Object({ edits: Type.Array(Edit, { minItems: 1, maxItems: 1000 }) }, closed),
]);
export const importRequest = Type.Object({ configuration: AnyObject }, closed);
export const undoRequest = Type.Object(
  {
    to: Type.Optional(
      Type.Integer({
        minimum: 1,
        description: "The second version. Default: the version before the first version",
      }),
    ),
  },
  closed,
);

const Written = jsonResponse(Type.Object({ ok: Type.Literal(true), version: Type.String() }), {
  description:
    "The change was made (with `dryRun`: would be made). `version` and the `ETag` header contain the resulting version of the configuration.",
});
const version = Type.Optional(
  Type.String({ description: "The number or the id of a version. Default: the latest version" }),
);

export const configRoutes = {
  show: {
    ...owner,
    summary: "Show the configuration with its schema, secrets masked",
    response: jsonResponse(
      Type.Object({
        version: Type.String({
          description: "The version to send in `If-Match`; the `ETag` header contains it too",
        }),
        schema: AnyObject,
        value: AnyObject,
        written: AnyObject,
        problem: Type.Union([AnyObject, Type.String(), Type.Null()]),
        leftOut: Type.Array(Type.Unknown()),
        awaitingStart: Type.Array(Type.Unknown()),
      }),
    ),
  },
  set: {
    ...owner,
    summary: "Write one key of the configuration; without a value, remove the key",
    query: dryRun,
    body: keyChange,
    response: Written,
  },
  change: {
    ...owner,
    summary: "Write several keys of the configuration, either all of them or none",
    query: dryRun,
    body: patch,
    response: Written,
  },
  history: {
    ...owner,
    summary:
      "List the last versions of the configuration: who wrote each version, when, and from where",
    response: jsonResponse(
      Type.Object({
        versions: Type.Array(
          Type.Object({
            id: Type.Integer(),
            version: Type.String(),
            at: Type.String(),
            keys: Type.Array(Type.String()),
          }),
        ),
      }),
    ),
  },
  diff: {
    ...owner,
    summary: "Show what changed between two versions, secrets masked",
    query: Type.Object({ from: version, to: version }),
    response: jsonResponse(
      Type.Object({
        changes: Type.Array(Type.Object({ key: Type.String(), kind: Type.String() })),
      }),
    ),
  },
  export: {
    ...owner,
    summary: "Export the configuration for another gateway, with variables in place of secrets",
    response: jsonResponse(
      Type.Object({
        version: Type.String(),
        configuration: AnyObject,
        secrets: Type.Array(Type.Object({ path: Path, variable: Type.String() })),
      }),
    ),
  },
  import: {
    ...owner,
    summary: "Replace the configuration with an exported one, keeping this gateway's secrets",
    query: dryRun,
    body: importRequest,
    response: Written,
  },
  undo: {
    ...owner,
    summary: "Restore the version before the latest change, or another version",
    query: dryRun,
    body: undoRequest,
    optionalBody: true,
    response: Written,
  },
  refresh: {
    ...owner,
    summary: "Apply the configuration file now",
    changes: false,
    body: null,
    response: jsonResponse(
      Type.Object({
        problem: Type.Union([AnyObject, Type.String(), Type.Null()]),
        leftOut: Type.Array(Type.Unknown()),
      }),
    ),
  },
} satisfies Record<string, RouteOptions>;

// gateway

const Standing = Type.Object({ name: Type.String(), state: Type.String() });

export const gatewayRoutes = {
  status: {
    ...owner,
    summary: "Show what is running, and what is wrong",
    response: jsonResponse(
      Type.Object({
        version: Type.String(),
        pid: Type.Integer(),
        uptimeMs: Type.Number(),
        url: Type.String(),
        servers: Type.Record(Type.String(), Type.String()),
        home: Type.String(),
        workspace: Type.String(),
        memory: Type.Object({ rssBytes: Type.Number(), heapBytes: Type.Number() }),
        cpuMs: Type.Integer({
          description: "The processor time of all workers since the start, in milliseconds",
        }),
        requests: Type.Object({ total: Type.Integer(), active: Type.Integer() }),
        connections: AnyObject,
        config: AnyObject,
        notReady: Type.Array(Type.Object({ name: Type.String() })),
        notices: Type.Array(Type.Object({ from: Type.String(), text: Type.String() })),
        plugins: Type.Array(Standing),
        hooks: Type.Array(Standing),
        workers: Type.Optional(AnyObject),
      }),
    ),
  },
  events: {
    ...owner,
    summary: "List all events and what their handlers may do",
    response: jsonResponse(
      Type.Object({
        events: Type.Array(
          Type.Object({
            name: Type.String(),
            mode: Type.String(),
            description: Text,
            changes: Type.Array(Type.String()),
          }),
        ),
      }),
    ),
  },
  logs: {
    ...owner,
    summary: "Show the last log lines; with follow=true, also stream new ones",
    query: logsQuery,
    response: {
      200: {
        description: "Log lines, as a list or as a stream.",
        content: {
          "application/json": Type.Object({
            lines: Type.Array(Type.Object({ level: Type.String() })),
          }),
          "text/event-stream": Type.Unknown(),
        },
      },
    },
  },
} satisfies Record<string, RouteOptions>;

// hooks and plugins

const Hook = Standing;
const Hooks = jsonResponse(Type.Object({ hooks: Type.Array(Hook) }));
const oneHook = { ...owner, body: null, response: jsonResponse(Hook) };

const Files = Type.Array(Type.Object({ path: Type.String(), text: Type.String() }));

export const runBody = Type.Object({
  event: Type.Optional(
    Type.String({ description: "The event to run. Default: the only event of the hook" }),
  ),
  context: Type.Optional(
    Type.Record(Type.String(), Type.Unknown(), {
      description: "Fields that replace fields of the event's sample",
    }),
  ),
  sessionKey: Text,
});

export const hookRoutes = {
  list: {
    ...owner,
    summary: "List all hooks, and the directories (roots) from which they are loaded",
    response: jsonResponse(
      Type.Object({
        hooks: Type.Array(Hook),
        roots: Type.Array(Type.Object({ name: Type.String(), dir: Type.String() })),
      }),
    ),
  },
  rescan: { ...owner, summary: "Scan the disk for changes now", body: null, response: Hooks },
  reloadAll: { ...owner, summary: "Reload all hooks", body: null, response: Hooks },
  show: { ...owner, summary: "Show one hook", response: jsonResponse(Hook) },
  logs: {
    ...owner,
    summary: "Show the last log lines of a hook",
    query: Type.Object({ lines: limitField(200) }),
    response: jsonResponse(Type.Object({ lines: Type.Array(Type.Unknown()) })),
  },
  code: {
    ...owner,
    summary:
      "Show the files of a hook: those on disk, and those of every version that has been active since the gateway started",
    response: jsonResponse(
      Type.Object({
        files: Files,
        versions: Type.Array(
          Type.Object({ hash: Type.String(), loadedAt: Type.String(), files: Files }),
        ),
      }),
    ),
  },
  enable: { ...oneHook, summary: "Enable a hook, even if it was stopped after failures" },
  disable: { ...oneHook, summary: "Disable a hook" },
  approve: { ...oneHook, summary: "Approve the content of a hook" },
  reload: { ...oneHook, summary: "Reload a hook" },
  check: {
    ...owner,
    summary: "Check a hook and list what is wrong",
    changes: false,
    body: null,
    response: jsonResponse(
      Type.Object({
        name: Type.String(),
        ok: Type.Boolean(),
        problems: Type.Array(Type.Unknown()),
        warnings: Type.Array(Type.Unknown()),
      }),
    ),
  },
  run: {
    ...owner,
    summary: "Run a hook against a sample event",
    body: runBody,
    optionalBody: true,
    response: jsonResponse(
      Type.Object({ hook: Type.String(), event: Type.String(), context: AnyObject }),
    ),
  },
} satisfies Record<string, RouteOptions>;

const Plugin = Type.Object({
  name: Type.String(),
  state: Type.String(),
  root: Text,
  dir: Text,
  description: Text,
  effects: Type.Optional(Type.Array(Type.String())),
});
const Plugins = jsonResponse(Type.Object({ plugins: Type.Array(Plugin) }));
const onePlugin = { ...owner, body: null, response: jsonResponse(Plugin) };

export const pluginRoutes = {
  list: { ...owner, summary: "List all plugins", response: Plugins },
  show: { ...owner, summary: "Show one plugin", response: jsonResponse(Plugin) },
  reload: { ...onePlugin, summary: "Reload a plugin" },
  enable: { ...onePlugin, summary: "Enable a plugin" },
  disable: { ...onePlugin, summary: "Disable a plugin" },
  rescan: { ...owner, summary: "Scan the disk for changes now", body: null, response: Plugins },
} satisfies Record<string, RouteOptions>;
