/** The ways in which plugins use each other: services with one provider, and contributions with many. */
import type { Static, TSchema } from "@sinclair/typebox";
import type { Logger } from "./common.ts";
import type { ChangeWatcher } from "./changes.ts";
import type { HookContext } from "./hooks.ts";
import type { Principal, PrincipalKind } from "./principal.ts";
import type { Authenticator, RequestWatcher } from "./requests.ts";

/** Service name → its interface. A plugin `provide`s one, others `use` it. */
// biome-ignore lint/suspicious/noEmptyInterface: plugins that provide a service add it by declaration merging
export interface Services {}
export type ServiceName = keyof Services & string;

/** Contribution point → the type of its items (`tool`, `provider`, …), which many owners add to one list. */
export interface Contributions {
  tool: Tool;
  authenticator: Authenticator;
  hookContext: HookContextMember;
  requestWatcher: RequestWatcher;
  changeWatcher: ChangeWatcher;
}
export type ContributionPoint = keyof Contributions & string;

/** The requirements for a point's items. They are checked when an item is contributed, before it replaces anything. */
export interface ContributionSpec<K extends ContributionPoint = ContributionPoint> {
  /** The members of an item with their types; a string must not be empty. */
  readonly fields: Readonly<
    Record<string, "string" | "function" | "object" | "number" | "boolean">
  >;
  /** Returns what is wrong with an item that has these members, or undefined. */
  check?(item: Contributions[K]): string | undefined;
}

/** A tool that a model can call. */
export interface Tool<P extends TSchema = TSchema> {
  /** `[A-Za-z][A-Za-z0-9_-]*`, at most 64 characters, unique over all plugins. */
  name: string;
  description: string;
  /** A TypeBox object schema; arguments are checked against it before the handler runs. */
  parameters: P;
  /**
   * Returns text, a JSON value, or content parts for images. The model receives all of it marked as data from outside,
   * except parts that are marked as the tool's own words. If it throws, the result is the tool's error.
   */
  handler(args: Static<P>, call: ToolCall): unknown | Promise<unknown>;
  /** Deadline in ms; default 60000. */
  timeoutMs?: number;
  /**
   * The kinds of principals that may use the tool in addition to the owner. Without it, only the owner may, unless the
   * `tools` of a key, webhook, mapping or poll names the tool.
   */
  principals?: readonly PrincipalKind[];
  /**
   * The author of the description and parameters, if it is neither the gateway nor a plugin: the model then receives
   * them marked as data.
   */
  origin?: string;
  /**
   * Further members in listings for other programs, in addition to name, description and parameters: `title`,
   * `annotations`, `outputSchema`.
   */
  listing?: Readonly<Record<string, unknown>>;
  /**
   * True if the messages of its errors are the plugin's own words and repeat nothing from outside; otherwise they are
   * marked as data.
   */
  ownErrors?: boolean;
}

export interface ToolCall {
  signal: AbortSignal;
  log: Logger;
  sessionKey: string;
  /** The principal on whose behalf the tool is called. Everything that the tool creates inherits it. */
  principal: Principal;
  turnId?: string;
  /** Present if the caller wants to receive the progress of a long call. */
  onProgress?: ((progress: ToolProgress) => void) | undefined;
}

/** The progress of a call; `total` is present if it is known. */
export interface ToolProgress {
  progress: number;
  total?: number | undefined;
  message?: string | undefined;
}

/** One member of every hook's `ctx`, such as a durable store. It is created for a call at its first use. */
export interface HookContextMember<K extends keyof HookContext = keyof HookContext> {
  name: K;
  create(call: HookCall): HookContext[K];
}

/** One call of a hook, as members of its `ctx` see it. */
export interface HookCall {
  /** The hook's name. */
  readonly hook: string;
  /** `hooks.entries.<name>` of the configuration. */
  readonly options: Readonly<Record<string, unknown>>;
  /** Aborted at the call's deadline. */
  readonly signal: AbortSignal;
  /** The principal on whose behalf the handled event happens. */
  readonly principal: Principal;
  /** The events being handled, outermost first, which reveal a hook that causes its own event. */
  readonly events: readonly string[];
  /** Returns a configuration value by its key path; undefined if it is not set. */
  config(key: string): unknown;
}
