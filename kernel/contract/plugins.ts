/** The definition of a plugin, and its context. */
import type { Static, TSchema } from "@sinclair/typebox";
import type { Dispose, Logger, Paths } from "./common.ts";
import type {
  BusHandler,
  EmitOptions,
  EmitResult,
  EventName,
  Events,
  EventSpec,
  HandlerSelection,
  OnOptions,
} from "./events.ts";
import type { DeclaredErrors } from "../errors.ts";
import type { HookContext, HookEvent } from "./hooks.ts";
import type { UserModule } from "./modules.ts";
import type { Mount } from "./routes.ts";
import type { ServerHandle, ServerOptions } from "./servers.ts";
import type {
  ContributionPoint,
  ContributionSpec,
  Contributions,
  ServiceName,
  Services,
  Tool,
} from "./services.ts";

/** Path of a configuration section (`greeter`, `gateway.greeter`, `greetings.*`) → its TypeBox schema. */
export type ConfigSchemas = Record<string, TSchema>;
/** The values of sections by path. `channels.*` is a map of its keys; a path with a `*` before its end has no value. */
export type ConfigOf<C extends ConfigSchemas> = {
  readonly [K in keyof C]: K extends `${infer Above}*`
    ? Above extends `${string}*${string}`
      ? undefined
      : Record<string, Static<C[K]>>
    : K extends `${string}*${string}`
      ? undefined
      : Static<C[K]>;
};

/** The argument of a configuration check. */
export interface ConfigCheckSubject {
  /** The whole configuration, with defaults and with references replaced. Other owners' sections may be invalid. */
  readonly config: Readonly<Record<string, unknown>>;
  /** Absent if the file under check belongs to no home. */
  readonly paths?: Paths | undefined;
  /** The variables that references are resolved with. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /**
   * Returns the names that enabled plugins contribute to a point; undefined if they cannot be known without running a
   * plugin.
   */
  names(point: string): readonly string[] | undefined;
}

/** A problem of the configuration that its schema does not cover. */
export interface ConfigFault {
  /** The path of the value, such as `["hooks", "entries", "hello", "env"]`. */
  path: readonly (string | number)[];
  /** A predicate that follows the key: `names the channel "backup", which does not exist`. */
  message: string;
  /** The name that was probably meant. */
  nearest?: string | undefined;
  hint?: string | undefined;
}

/**
 * Finds everything that a start would leave out or refuse, without starting or changing anything: `portico config
 * validate` runs it without a gateway.
 */
export type ConfigCheck = (
  subject: ConfigCheckSubject,
) => readonly ConfigFault[] | Promise<readonly ConfigFault[]>;

export interface PluginDefinition<C extends ConfigSchemas = ConfigSchemas> {
  /** Unique; the same name in a higher root replaces the lower one. */
  name: string;
  description?: string;
  /**
   * The sections of `portico.json` that this plugin owns. Object schemas of several plugins for one path are merged;
   * `*` stands for any key of a map. Defaults are filled in before `setup`.
   */
  config?: C;
  /** Checks rules that the schemas of `config` cannot express, whether or not the plugin runs. */
  configCheck?: () => Promise<{ default: ConfigCheck }>;
  /**
   * The names of the items that `setup` contributes to a point (`{ tool: ["clock"] }`), for checks of the configuration
   * that run without it. If a user's plugin declares none, checks accept any name that it might add.
   */
  names?: Readonly<Record<string, readonly string[]>>;
  /**
   * The events that this plugin emits, with the effects that each allows. They are declared while the plugin is active.
   */
  events?: { readonly [K in EventName]?: EventSpec<K> };
  /** The plugin's errors: a table made by `PorticoError.table`, or the statuses of its codes: `{ job_not_found: 404 }`. */
  errors?: DeclaredErrors;
  /** The contribution points that the plugin owns (see `Contributions`), with the requirements for their items. */
  contributions?: { readonly [K in ContributionPoint]?: ContributionSpec<K> };
  /**
   * The members that the plugin adds to every hook's `ctx` (contribution `hookContext`): the member's name → one line
   * about its use.
   */
  hookContext?: { readonly [K in keyof HookContext]?: string };
  /** Services that must be available before `setup` runs. */
  needs?: readonly ServiceName[];
  /** Sets up the plugin. `config` is `ctx.config`. */
  setup(ctx: PluginContext<C>, config: ConfigOf<C>): void | Promise<void>;
}

/**
 * The context of a plugin. Everything that the plugin registers through it is removed when the plugin is unloaded, in
 * reverse order.
 */
export interface PluginContext<C extends ConfigSchemas = ConfigSchemas> extends Mount {
  readonly name: string;
  /** The plugin's sections of the configuration as they were at its setup; see `onConfig`. */
  readonly config: ConfigOf<C>;
  /** The plugin's own directory. */
  readonly dir: string;
  readonly log: Logger;
  readonly paths: Paths;
  readonly version: string;
  /** Aborted when the plugin is unloaded. */
  readonly signal: AbortSignal;

  /**
   * Opens a separate loopback server for the plugin, with the kernel's guards, authentication and error forms. Resolves
   * when the server listens.
   */
  server(options: ServerOptions): Promise<ServerHandle>;
  /** The gateway's own URL once it listens, such as `http://127.0.0.1:18789`. */
  url(): string;
  /** Every port that this gateway listens on. Outgoing requests must not reach them (see `createGuard`). */
  ports(): readonly number[];
  /** Every secret of the current configuration, for code that must not show one. Never store or send them. */
  secrets(): readonly string[];

  /** Declares an event. Emitting an undeclared one only logs an error. */
  event<K extends EventName>(name: K, spec: EventSpec<K>): Dispose;
  on<K extends EventName>(name: K, handler: BusHandler<K>, options?: OnOptions): Dispose;
  /** Observes every event after its handlers have run; for feeds and metrics. */
  onAny(observer: (event: HookEvent, result: EmitResult) => void): Dispose;
  emit<K extends EventName>(
    name: K,
    context: Events[K],
    options?: EmitOptions,
  ): Promise<EmitResult<K>>;
  /** Whether a handler or an observer receives the event, so that a hot path can skip building a context. */
  hasListeners(name: EventName): boolean;
  /**
   * Whether a handler is registered for the event, without observers (`onAny`): for events that are worth emitting only
   * if they may change something.
   */
  hasHandlers(name: EventName, selection?: HandlerSelection): boolean;
  /** Whether the event is declared. Use it for a name that comes from outside. */
  declared(name: string): boolean;

  provide<K extends ServiceName>(name: K, service: Services[K]): Dispose;
  /**
   * Returns a service. Throws `service_unavailable` (503) if no plugin provides it. Call this at each use, because a
   * reload replaces the service.
   */
  use<K extends ServiceName>(name: K): Services[K];
  find<K extends ServiceName>(name: K): Services[K] | undefined;

  /** Adds an item to a point. Throws if no plugin declares the point, or if the point does not accept the item. */
  add<K extends ContributionPoint>(point: K, item: Contributions[K]): Dispose;
  list<K extends ContributionPoint>(point: K): readonly Contributions[K][];
  /** Calls `changed` after every change of the point's list. */
  watch(point: ContributionPoint, changed: () => void): Dispose;
  /** Adds a tool like `add("tool", tool)`, with the argument types of its schema. */
  tool<P extends TSchema>(tool: Tool<P>): Dispose;

  /** Starts background work. Runs never overlap. An error is logged, and the next run follows as scheduled. */
  task(
    name: string,
    options: { everyMs: number; immediately?: boolean },
    run: (signal: AbortSignal) => unknown,
  ): Dispose;
  /**
   * Returns data that a reload of the plugin must not lose, such as counts: the value that the previous version stored
   * under this name, or else the result of `create`. During the reload both versions use the value, and their code may
   * differ, so store plain data, and choose another name when its shape changes. A plugin that was stopped, or that
   * comes from another directory, starts without the value.
   */
  keep<T extends object>(name: string, create: () => T): T;
  /** Registers a clean-up of the plugin, which unloading awaits for up to 5 s. */
  defer(undo: Dispose): void;
  /**
   * Registers a function that applies a changed configuration without a reload of the plugin. If it throws (or takes
   * longer than 15 s), the change is refused: `apply` is called once more, with the previous configuration, as in every
   * plugin that applied the change. Without `onConfig`, the plugin is reloaded.
   */
  onConfig(apply: (next: ConfigOf<C>, previous: ConfigOf<C>) => void | Promise<void>): void;
  /**
   * Writes one key of a section that the plugin declares into the configuration file; `undefined` removes it. The
   * change is active when this resolves. It must not be awaited inside `onConfig`.
   */
  setConfig(path: readonly (string | number)[], value: unknown): Promise<void>;
  /**
   * Registers work that a stop must wait for (a stream, a turn), for at most `gateway.shutdownTimeoutMs`. Returns
   * `work`.
   */
  busy<T>(work: Promise<T>): Promise<T>;
  /**
   * Loads a user's TypeScript or JavaScript file (absolute path), bundled like a plugin. `limitMs` limits its
   * evaluation and each of its loops. The result is not cached: load it again when one of `inputs` has changed.
   */
  load(file: string, limitMs: number): Promise<UserModule>;
  /**
   * Returns why the agent may not write a file (absolute path), because Portico evaluates it or reads it as settings;
   * undefined if it may. Code that writes for the agent must call this at the moment of writing. `root` is the
   * directory that the turn works in; default is the workspace.
   */
  whyProtected(path: string, root?: string): string | undefined;
  /** Adds a check of readiness: `/ready` responds with 503 as long as the check returns a text. */
  readiness(check: () => string | undefined): Dispose;
}
