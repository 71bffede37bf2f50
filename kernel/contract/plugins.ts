/** What a plugin is, and what it gets. */
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
/** A section by its path. `channels.*` is a map of its keys; a path with a `*` before its end has no value of its own. */
export type ConfigOf<C extends ConfigSchemas> = {
  readonly [K in keyof C]: K extends `${infer Above}*`
    ? Above extends `${string}*${string}`
      ? undefined
      : Record<string, Static<C[K]>>
    : K extends `${string}*${string}`
      ? undefined
      : Static<C[K]>;
};

/** What a check of the configuration gets. */
export interface ConfigCheckSubject {
  /** The whole configuration, with defaults and with references replaced. Other owners' sections may be wrong. */
  readonly config: Readonly<Record<string, unknown>>;
  /** Absent where a file is checked that belongs to no home. */
  readonly paths?: Paths | undefined;
  /** The variables that references are looked up in. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The names that enabled plugins add to a point; undefined where they cannot be known without running a plugin. */
  names(point: string): readonly string[] | undefined;
}

/** Something that is wrong with the configuration, beyond what its schema says. */
export interface ConfigFault {
  /** Where: `["hooks", "entries", "hello", "env"]`. */
  path: readonly (string | number)[];
  /** To be read after the key: `names the channel "backup", which does not exist`. */
  message: string;
  /** The name that was probably meant. */
  nearest?: string | undefined;
  hint?: string | undefined;
}

/**
 * Finds everything that a start would leave out or refuse. It starts nothing and changes nothing: `portico config
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
   * The sections of `portico.json` that this plugin owns. Object schemas that several plugins give for one path are
   * merged; `*` stands for any key of a map. Defaults are filled in before `setup`.
   */
  config?: C;
  /** Checks what the schemas of `config` cannot say, whether or not the plugin runs. */
  configCheck?: () => Promise<{ default: ConfigCheck }>;
  /**
   * The names of what `setup` adds to a point (`{ tool: ["clock"] }`), for checks of the configuration that run
   * without it. Of a user's plugin that says none, checks pass over whatever it might add.
   */
  names?: Readonly<Record<string, readonly string[]>>;
  /** The events that this plugin emits, with what each lets handlers do: declared while the plugin is active. */
  events?: { readonly [K in EventName]?: EventSpec<K> };
  /** The plugin's errors: a table made by `PorticoError.table`, or the statuses of its codes: `{ job_not_found: 404 }`. */
  errors?: DeclaredErrors;
  /** The contribution points that it owns (see `Contributions`), with what an item of each must be. */
  contributions?: { readonly [K in ContributionPoint]?: ContributionSpec<K> };
  /** What it adds to every hook's `ctx` (contribution `hookContext`): the member's name → one line on how it is used. */
  hookContext?: { readonly [K in keyof HookContext]?: string };
  /** Services that must be there before `setup` runs. */
  needs?: readonly ServiceName[];
  /** `config` is `ctx.config`. */
  setup(ctx: PluginContext<C>, config: ConfigOf<C>): void | Promise<void>;
}

/** Everything that a plugin registers through this goes when it is unloaded, last first. */
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

  /** A loopback server of the plugin's own, with the kernel's guards, authentication and error forms. Listens when awaited. */
  server(options: ServerOptions): Promise<ServerHandle>;
  /** The gateway's own address once it listens, as `http://127.0.0.1:18789`. */
  url(): string;
  /** Every port that this gateway listens on: nobody may be led to them (see `createGuard`). */
  ports(): readonly number[];
  /** Every secret of the configuration as it is now, for what must not show one: never to be kept or sent. */
  secrets(): readonly string[];

  /** Declares an event; emitting an undeclared one does nothing but log an error. */
  event<K extends EventName>(name: K, spec: EventSpec<K>): Dispose;
  on<K extends EventName>(name: K, handler: BusHandler<K>, options?: OnOptions): Dispose;
  /** Sees every event after its handlers ran; for feeds and metrics. */
  onAny(observer: (event: HookEvent, result: EmitResult) => void): Dispose;
  emit<K extends EventName>(
    name: K,
    context: Events[K],
    options?: EmitOptions,
  ): Promise<EmitResult<K>>;
  /** True if a handler is registered for the event: lets a hot path skip building a context. */
  hasListeners(name: EventName): boolean;
  /** The same without those who only look on (`onAny`): for events that are worth emitting only where they may change something. */
  hasHandlers(name: EventName, selection?: HandlerSelection): boolean;
  /** True if the event is declared: use it for a name that comes from outside. */
  declared(name: string): boolean;

  provide<K extends ServiceName>(name: K, service: Services[K]): Dispose;
  /** Throws `service_unavailable` (503) where nobody provides it. Ask at each use: a reload swaps the service. */
  use<K extends ServiceName>(name: K): Services[K];
  find<K extends ServiceName>(name: K): Services[K] | undefined;

  /** Throws where no plugin declares the point, and where the item is not what the point takes. */
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
  /**
   * Returns data that a reload of the plugin must not lose, such as counts: the value that the previous version kept under
   * this name, or else the result of `create`. During the reload both versions use the value, and their code may differ. So
   * keep plain data, and choose another name when its shape changes. A plugin that was stopped, or that comes from another
   * directory, starts without the value.
   */
  keep<T extends object>(name: string, create: () => T): T;
  /** A clean-up of the plugin's own, awaited at unloading for up to 5 s. */
  defer(undo: Dispose): void;
  /**
   * Takes a changed configuration without a reload of the plugin. A throw (or no end after 15 s) refuses it: `apply` is
   * called once more, with what was in force, as in every plugin that took it. Without it, the plugin is reloaded.
   */
  onConfig(apply: (next: ConfigOf<C>, previous: ConfigOf<C>) => void | Promise<void>): void;
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
  /**
   * Says why the agent may not write a file (absolute path): Portico evaluates it or reads it as settings. Undefined
   * where it may. Whatever writes for the agent asks at the moment of writing. `root` is the directory that the turn
   * works in; default is the workspace.
   */
  whyProtected(path: string, root?: string): string | undefined;
  /** `/ready` answers 503 with this text for as long as the check returns one. */
  readiness(check: () => string | undefined): Dispose;
}
