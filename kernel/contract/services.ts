/** What plugins offer each other: services, and contributions with many owners. */
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

/** Contribution point → what is contributed to it (`tool`, `provider`, …): many owners, one list. */
export interface Contributions {
  tool: Tool;
  authenticator: Authenticator;
  hookContext: HookContextMember;
  requestWatcher: RequestWatcher;
  changeWatcher: ChangeWatcher;
}
export type ContributionPoint = keyof Contributions & string;

/** What an item of a point must be: checked when it is contributed, before it replaces anything. */
export interface ContributionSpec<K extends ContributionPoint = ContributionPoint> {
  /** Its members, with what each must be; a text must not be empty. */
  readonly fields: Readonly<
    Record<string, "string" | "function" | "object" | "number" | "boolean">
  >;
  /** Returns what is wrong with an item that has these members. */
  check?(item: Contributions[K]): string | undefined;
}

/** Something that a model can call. */
export interface Tool<P extends TSchema = TSchema> {
  /** `[A-Za-z][A-Za-z0-9_-]*`, at most 64 characters, unique over all plugins. */
  name: string;
  description: string;
  /** A TypeBox object schema; arguments are checked against it before the handler runs. */
  parameters: P;
  /**
   * Returns text, or anything JSON can hold, or content parts for images. The model is shown all of it as data from
   * outside, but for parts that are marked as the tool's own words. A throw becomes the tool's error result.
   */
  handler(args: Static<P>, call: ToolCall): unknown | Promise<unknown>;
  /** Deadline in ms; default 60000. */
  timeoutMs?: number;
  /**
   * The kinds of principals that have it beside the owner. A tool that says nothing is the owner's alone, unless the
   * `tools` of a key, webhook, mapping or poll names it.
   */
  principals?: readonly PrincipalKind[];
  /**
   * Who wrote its description and parameters, where that is neither the gateway nor a plugin: the model is shown their
   * words as data.
   */
  origin?: string;
  /** Members that listings for other programs have beside name, description and parameters: `title`, `annotations`, `outputSchema`. */
  listing?: Readonly<Record<string, unknown>>;
  /** The messages of its errors are the plugin's own words and repeat nothing from outside; else they are shown as data. */
  ownErrors?: boolean;
}

export interface ToolCall {
  signal: AbortSignal;
  log: Logger;
  sessionKey: string;
  /** On whose behalf: what the tool creates inherits it. */
  principal: Principal;
  turnId?: string;
  /** Where somebody wants to hear how a long call gets on. */
  onProgress?: ((progress: ToolProgress) => void) | undefined;
}

/** How far a call has come; `total` where that is known. */
export interface ToolProgress {
  progress: number;
  total?: number | undefined;
  message?: string | undefined;
}

/** One member of every hook's `ctx`, such as a durable store: made for a call at its first use there. */
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
  /** On whose behalf the handled event happens. */
  readonly principal: Principal;
  /** The events being handled, outermost first: by them one recognises a hook that causes its own event. */
  readonly events: readonly string[];
  /** A value of the configuration by its key path; undefined where nothing stands there. */
  config(key: string): unknown;
}
