/** The `ctx` that a handler gets. Everything in it is looked up at the moment of use: services come and go. */
import { PorticoError } from "../../../errors.ts";
import { running } from "../../../owner.ts";
import type { EventName, Events, HookContext, HookContextMember, Logger, Paths } from "../../../types.ts";
import type { HookMeta } from "../front-matter.ts";
import type { HookSurroundings } from "../settings.ts";

export interface ContextParts {
  name: string;
  dir: string;
  meta: HookMeta;
  log: Logger;
  signal: AbortSignal;
  unloaded: AbortSignal;
  around: HookSurroundings;
}

/** A new context for one call. */
export function createHandlerContext(parts: ContextParts): HookContext {
  const { around, name, dir, meta, signal } = parts;
  const entry = around.entry(name);
  const ctx = {
    log: parts.log,
    signal,
    unloaded: parts.unloaded,
    config: ownOptions(entry),
    env: ownEnvironment(meta, entry.env, around),
    paths: hookPaths(around.paths, dir),
    emit: async <K extends EventName>(event: K, context: Events[K]) => around.emit(event, context),
  };
  for (const member of around.memberNames()) defineMember(ctx, member, parts, entry);
  return ctx as unknown as HookContext;
}

function hookPaths({ home, state, workspace }: Paths, hook: string): HookContext["paths"] {
  return { home, state, workspace, hook };
}

/** `hooks.entries.<name>` without what Portico itself reads; a copy, so that a handler cannot change the configuration. */
function ownOptions(entry: Record<string, unknown>): Record<string, unknown> {
  const { enabled, env, ...options } = entry;
  return structuredClone(options);
}

function ownEnvironment(meta: HookMeta, given: Record<string, string> | undefined, around: HookSurroundings) {
  const secrets = new Set(around.secrets());
  const env: Record<string, string | undefined> = {};
  const variables = around.env();
  for (const variable of meta.requires.env) {
    const value = variables[variable];
    // The gateway's own token is nobody's business, whatever a hook declares.
    if (value !== undefined && !secrets.has(value)) env[variable] = value;
  }
  return Object.assign(env, given);
}

/** A member that a plugin gives: made at its first use, with a clear error where that plugin does not run. */
function defineMember(ctx: object, name: string, parts: ContextParts, options: Record<string, unknown>): void {
  const { around, signal } = parts;
  let made: unknown;
  const get = () => {
    if (made !== undefined) return made;
    const member = around.members().find((one: HookContextMember) => one.name === name);
    if (!member) {
      throw new PorticoError(
        "service_unavailable",
        `ctx.${name} is given by a plugin that does not run: see \`portico plugins list\`.`,
      );
    }
    const events = running()?.chain ?? [];
    return (made = member.create({ hook: parts.name, options, signal, events, config: around.lookup }));
  };
  Object.defineProperty(ctx, name, { get, enumerable: true });
}
