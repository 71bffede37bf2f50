/**
 * The contract between the kernel and everything that it loads.
 *
 * `Events`, `Services` and `Contributions` are empty of plugins on purpose: whoever owns an event, a service
 * or a contribution point adds it by declaration merging (`declare module "portico" { interface Events {…} }`).
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import type { Static, TSchema } from "@sinclair/typebox";
import type { Command } from "./cli/types.ts";
import type { Store } from "./store/types.ts";

/** Undoes one registration. Calling it twice is harmless. */
export type Dispose = () => void | Promise<void>;

/** A pino-shaped logger whose lines are redacted. */
export interface Logger {
  trace(fields: object | string, message?: string): void;
  debug(fields: object | string, message?: string): void;
  info(fields: object | string, message?: string): void;
  warn(fields: object | string, message?: string): void;
  error(fields: object | string, message?: string): void;
  fatal(fields: object | string, message?: string): void;
  child(bindings: Record<string, unknown>): Logger;
}

/** Where things lie on this machine; all absolute. */
export interface Paths {
  /** `~/.portico` unless told otherwise; mode 0700. */
  readonly home: string;
  readonly config: string;
  readonly state: string;
  readonly workspace: string;
  /** `<os tmp>/portico`: the only root that downloads, traces and uploads may lie under. */
  readonly tmp: string;
  /** The package's own directory: built-in plugins and bundled hooks lie in it. */
  readonly package: string;
}

// ---------------------------------------------------------------------------------------------- events

/** Event name → the `context` its handlers get. */
export interface Events {
  "gateway:startup": { version: string; port: number };
  "gateway:shutdown": { reason: string };
  "config:changed": { keys: string[] };
  "hook:failed": {
    hook: string;
    event: string;
    error: string;
    file?: string;
    line?: number;
    failures: number;
    resting: boolean;
  };
}
export type EventName = keyof Events & string;

/**
 * How an event treats its handlers: `notify` never delays the producer; `change` lets handlers change the named
 * fields; `answer` does that too, and the first `{reply}` or `{block}` ends it.
 */
export type EventMode = "notify" | "change" | "answer";

export interface EventSpec<K extends EventName = EventName> {
  mode: EventMode;
  description: string;
  /** The fields of `context` that a handler may change; the rest is read-only to it. */
  changes?: readonly (keyof Events[K] & string)[];
  /** A believable context: `portico hooks run` and documentation use it. */
  sample: Events[K];
}

/** What a handler sees. `messages` that are pushed are sent as replies where the event has someone to reply to. */
export interface BusEvent<K extends EventName = EventName> {
  /** Before the colon (`message`). */
  readonly type: string;
  /** After the colon (`received`). */
  readonly action: string;
  readonly name: K;
  readonly sessionKey: string;
  readonly timestamp: Date;
  readonly context: Events[K];
  readonly messages: string[];
}

// biome-ignore lint/suspicious/noConfusingVoidType: a handler may return nothing
export type HandlerResult = { reply: string } | { block: string } | void | undefined;

export type BusHandler<K extends EventName = EventName> = (
  event: BusEvent<K>,
  call: { signal: AbortSignal },
) => HandlerResult | Promise<HandlerResult>;

export interface OnOptions {
  /** Higher runs first; default 0. */
  priority?: number;
  /** Deadline in ms after which the handler's signal is aborted and the next handler runs; default 10000. */
  timeoutMs?: number;
  /** Who registered it, for logs; the context fills it in. */
  owner?: string;
  /**
   * False: stray errors and nested events are not traced to the owner. The package's own handlers say so, since the
   * first traced call slows every promise of a process on Node 20. Default true.
   */
  traced?: boolean;
}

/** What became of one handler. */
export interface Outcome {
  owner: string;
  ok: boolean;
  ms: number;
  error?: Error;
  timedOut?: boolean;
}

export interface EmitOptions {
  sessionKey?: string;
}

/** Never a rejection: a handler that throws is an outcome. `context` holds the changed fields. */
export interface EmitResult<K extends EventName = EventName> {
  context: Events[K];
  reply?: string;
  block?: string;
  /** What handlers pushed on `event.messages`, in order. */
  messages: string[];
  outcomes: Outcome[];
}

// ------------------------------------------------------------------------- services and contributions

/** Service name → its interface. A plugin `provide`s one, others `use` it. */
export interface Services {
  store: Store;
  gateway: GatewayState;
}
export type ServiceName = keyof Services & string;

/** Contribution point → what is contributed to it (`tool`, `provider`, …): many owners, one list. */
export interface Contributions {
  tool: Tool;
  authenticator: Authenticator;
}
export type ContributionPoint = keyof Contributions & string;

/** What the kernel tells of itself; for metrics and the like. */
export interface GatewayState {
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  /** As in `GET /ready`. */
  notReady(): readonly { name: string; error: string }[];
  plugins(): readonly { name: string; state: string; error?: string }[];
  hooks(): readonly { name: string; state: string; root: string; runs: number; failures: number }[];
  /** Answered requests since the start, of the gateway's own server. `route` is a pattern, empty where none matched. */
  requests(): readonly { method: string; route: string; status: number; count: number }[];
  /** Requests that are being answered. */
  active(): number;
}

/** Something the agent (and MCP clients) can call. */
export interface Tool<P extends TSchema = TSchema> {
  /** `[a-z][a-z0-9_]*`, unique over all plugins. */
  name: string;
  description: string;
  /** A TypeBox object schema; arguments are checked against it before the handler runs. */
  parameters: P;
  /** Returns text, or anything JSON can hold, or content parts for images. A throw becomes the tool's error result. */
  handler(args: Static<P>, call: ToolCall): unknown | Promise<unknown>;
  /** Deadline in ms; default 60000. */
  timeoutMs?: number;
}

export interface ToolCall {
  signal: AbortSignal;
  log: Logger;
  sessionKey: string;
  turnId?: string;
}

/** Turns a bearer token that is not the gateway's own into a client, or says that it does not know it. */
export interface Authenticator {
  name: string;
  authenticate(token: string, req: IncomingMessage): Client | undefined | Promise<Client | undefined>;
}

// ------------------------------------------------------------------------------------------------ http

/**
 * Who may call a route: `gateway` the owner's token or password as bearer; `keys` that or a client key, as bearer or
 * in `x-api-key`; `control` the owner by bearer, `x-service-password` or HTTP basic; `public` anyone; `own` the handler
 * checks by itself.
 */
export type Access = "gateway" | "keys" | "control" | "public" | "own";

export interface Client {
  kind: "owner" | "key" | "anonymous";
  /** The name of the client key, where one was used. */
  key?: string;
  /** Free data of the authenticator that recognised the client. */
  grant?: unknown;
}

/** One request. A handler returns a value (answered as JSON with 200), a `reply(…)`, or nothing when it answered by itself. */
export interface Call {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  /** The request id; also sent as `x-request-id`. */
  readonly id: string;
  readonly method: string;
  /** Path without the query. */
  readonly path: string;
  readonly params: Record<string, string>;
  readonly query: URLSearchParams;
  readonly client: Client;
  /** The caller's address; `X-Forwarded-For` only counts behind `gateway.trustedProxies`. */
  readonly address: string;
  readonly log: Logger;
  /** Aborted when the client leaves before the answer has ended. */
  readonly signal: AbortSignal;
  /** The whole body, within the limit (413 beyond it). May be called again. */
  body(): Promise<Buffer>;
  /** The body as JSON: 415, 400 `invalid_json`, and with a schema 400 `invalid_request_error` with `param`. */
  json<T = unknown>(check?: Check<T>): Promise<T>;
}

/** A compiled schema: see `compile` in `kernel/schema.ts`. */
export interface Check<T> {
  /** Returns the value with defaults filled in, or throws `PorticoError("invalid_request_error")` with `param`. */
  parse(value: unknown): T;
  readonly schema: TSchema;
}

export type RouteHandler = (call: Call) => unknown | Promise<unknown>;

export interface RouteOptions {
  access: Access;
  /** Default `gateway.http.maxBodyBytes`. */
  maxBodyBytes?: number;
  /** One line for listings. */
  summary?: string;
}

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

/** Renders an error below a path prefix in that surface's own form. */
export type ErrorForm = (error: {
  code: string;
  message: string;
  status: number;
  type?: string;
  param?: string;
  details?: Record<string, unknown>;
  /** As in `x-request-id`, for forms that repeat it. */
  requestId?: string;
}) => unknown;

export type UpgradeHandler = (req: IncomingMessage, socket: Duplex, head: Buffer) => void;

/** Something routes can be mounted on: the gateway's own server, or one made by `ctx.server()`. */
export interface Mount {
  /** `path` in polka's syntax: `/a/:b`, a trailing `*`. */
  route(method: Method, path: string, options: RouteOptions, handler: RouteHandler): Dispose;
  /** WebSocket upgrades on `path`. Host and (unless `origins` names it) Origin were checked; credentials by `access`. */
  upgrade(path: string, options: { access: Access; origins?: readonly string[] }, handler: UpgradeHandler): Dispose;
  /** The form of errors below a prefix; the longest prefix wins. */
  errors(prefix: string, form: ErrorForm): Dispose;
}

export interface ServerOptions {
  name: string;
  /** The port is `gateway.port + portOffset`; any free one where `gateway.port` is 0. Always on loopback. */
  portOffset: number;
  /** Origins that may call, beside none at all. */
  origins?: readonly string[];
}

export interface ServerHandle extends Mount {
  readonly port: number;
  readonly url: string;
}

// --------------------------------------------------------------------------------------------- plugins

/** Path of a configuration section (`cron`, `gateway.nodes`, `channels.*`) → its TypeBox schema. */
export type ConfigSchemas = Record<string, TSchema>;
export type ConfigOf<C extends ConfigSchemas> = { [K in keyof C]: Static<C[K]> };

export interface PluginDefinition<C extends ConfigSchemas = ConfigSchemas> {
  /** Unique; the same name in a higher root replaces the lower one. */
  name: string;
  description?: string;
  /**
   * The sections of `portico.json` that this plugin owns. Object schemas that several plugins give for one path are
   * merged; `*` stands for any key of a map. Defaults are filled in before `setup`.
   */
  config?: C;
  /** Services that must be there before `setup` runs. */
  needs?: readonly ServiceName[];
  /** Command word → its definition, loaded only when the word is used. */
  commands?: Record<string, () => Promise<{ default: Command }>>;
  setup(ctx: PluginContext, config: ConfigOf<C>): void | Promise<void>;
}

/** Everything that a plugin registers through this goes when it is unloaded, last first. */
export interface PluginContext extends Mount {
  readonly name: string;
  /** The plugin's own directory. */
  readonly dir: string;
  readonly log: Logger;
  readonly paths: Paths;
  readonly version: string;
  /** Aborted when the plugin is unloaded. */
  readonly signal: AbortSignal;

  /** A loopback server of the plugin's own, with the kernel's guards, authentication and error forms. Listens when awaited. */
  server(options: ServerOptions): Promise<ServerHandle>;
  /** The gateway's own address once it listens, as `http://127.0.0.1:18789`. */
  url(): string;
  /** Every port that this gateway listens on: nobody may be led to them (see `createGuard`). */
  ports(): readonly number[];

  /** Declares an event; emitting an undeclared one is an error. */
  event<K extends EventName>(name: K, spec: EventSpec<K>): Dispose;
  on<K extends EventName>(name: K, handler: BusHandler<K>, options?: OnOptions): Dispose;
  /** Sees every event after its handlers ran; for feeds and metrics. */
  onAny(observer: (event: BusEvent, result: EmitResult) => void): Dispose;
  emit<K extends EventName>(name: K, context: Events[K], options?: EmitOptions): Promise<EmitResult<K>>;
  /** True when somebody handles the event: lets a hot path skip building a context. */
  hasListeners(name: EventName): boolean;
  /** True when somebody has declared the event: the name may come from outside. */
  declared(name: string): boolean;

  provide<K extends ServiceName>(name: K, service: Services[K]): Dispose;
  /** Throws `service_unavailable` (503) where nobody provides it. Ask at each use: a reload swaps the service. */
  use<K extends ServiceName>(name: K): Services[K];
  find<K extends ServiceName>(name: K): Services[K] | undefined;

  add<K extends ContributionPoint>(point: K, item: Contributions[K]): Dispose;
  list<K extends ContributionPoint>(point: K): readonly Contributions[K][];
  /** Called after every change of the point's list. */
  watch(point: ContributionPoint, changed: () => void): Dispose;
  /** `add("tool", tool)` with the argument types of its schema. */
  tool<P extends TSchema>(tool: Tool<P>): Dispose;

  /** Background work. Runs never overlap; an error is logged and the next run comes in time. */
  task(
    name: string,
    options: { everyMs: number; immediately?: boolean },
    run: (signal: AbortSignal) => unknown,
  ): Dispose;
  /** A clean-up of the plugin's own, awaited at unloading. */
  defer(undo: Dispose): void;
  /** Takes a changed configuration without a reload of the plugin; a throw keeps the old one. Without it, the plugin is reloaded. */
  onConfig(apply: (next: never, previous: never) => void | Promise<void>): void;
  /**
   * Writes one key of a section that the plugin declares into the configuration file; `undefined` removes it. Once this
   * has resolved, the change is in force. Not to be awaited inside `onConfig`.
   */
  setConfig(path: readonly (string | number)[], value: unknown): Promise<void>;
  /** Work that a stop must wait for (a stream, a turn); bounded by `gateway.shutdownTimeoutMs`. */
  busy<T>(work: Promise<T>): Promise<T>;
  /**
   * Loads a TypeScript or JavaScript file of the user's (absolute path), bundled as a plugin would be. `limitMs` bounds
   * its evaluation and each of its loops. Nothing is kept: load again where one of `inputs` has changed.
   */
  load(file: string, limitMs: number): Promise<UserModule>;
  /** `/ready` answers 503 with this text for as long as the check returns one. */
  readiness(check: () => string | undefined): Dispose;
}

export interface UserModule {
  exports: Record<string, unknown>;
  /** Every file that went into it, absolute, the entry among them. */
  inputs: readonly string[];
}

// ----------------------------------------------------------------------------------------------- hooks

/** The small durable store of one hook. Values are anything that JSON can hold. */
export interface HookKv {
  get<T = unknown>(key: string): Promise<T | undefined>;
  set(key: string, value: unknown): Promise<void>;
  delete(key: string): Promise<boolean>;
  list(prefix?: string): Promise<string[]>;
}

export interface HookContext {
  readonly log: Logger;
  /** `hooks.entries.<name>` of the configuration: the hook's own options. */
  readonly config: Record<string, unknown>;
  /** The variables of `hooks.entries.<name>.env` and those that `requires.env` names. */
  readonly env: Record<string, string | undefined>;
  /** Aborted at the deadline. */
  readonly signal: AbortSignal;
  /** Aborted when this version of the hook is replaced or removed: timers and watchers that it started end with it. */
  readonly unloaded: AbortSignal;
  /** Absolute; `state` is for files that a hook keeps, `hook` its own directory. */
  readonly paths: { readonly home: string; readonly state: string; readonly workspace: string; readonly hook: string };
  readonly kv: HookKv;
  /** Asks a model: a text, a list of messages, or a whole chat request. Answers the text. */
  chat(input: string | readonly object[] | Record<string, unknown>): Promise<string>;
  emit<K extends EventName>(name: K, context: Events[K]): Promise<EmitResult<K>>;
}

/** `HookHandler` alone takes the union of all events: narrow it with `event.name`. */
export type HookEvent<K extends EventName = EventName> = { [N in K]: BusEvent<N> }[K];
export type HookHandler<K extends EventName = EventName> = (
  event: HookEvent<K>,
  ctx: HookContext,
) => HandlerResult | Promise<HandlerResult>;
