/** The `ctx` that a handler gets. Everything in it is looked up at the moment of use: services come and go. */
import { PorticoError } from "../../../errors.ts";
import { running } from "../../../owner.ts";
import type { EventName, Events, HookCall, HookContext, Logger } from "../../../types.ts";
import type { HookHostOptions } from "../settings.ts";
import type { HookVersion } from "../version.ts";

/** A new context for one call. */
export function createHandlerContext(
  version: HookVersion,
  around: HookHostOptions,
  signal: AbortSignal,
  log: Logger,
): HookContext {
  const { name, realDir } = version.candidate;
  const { home, state, workspace } = around.paths;
  // A copy, so that a handler cannot change the configuration; without what Portico itself reads.
  const { enabled, env: given, ...options } = structuredClone(around.settings().entries[name] ?? {});
  const ctx = {
    log,
    signal,
    unloaded: version.ended.signal,
    config: options,
    env: { ...requiredEnvironment(version.meta.requires.env, around), ...given },
    paths: { home, state, workspace, hook: realDir },
    emit: async <K extends EventName>(event: K, context: Events[K]) => around.bus.emit(event, context),
  };
  for (const member of around.memberNames()) {
    let made: unknown;
    const get = () => (made ??= createMember(member, around, { hook: name, options, signal }));
    Object.defineProperty(ctx, member, { get, enumerable: true });
  }
  return ctx as unknown as HookContext;
}

function requiredEnvironment(names: readonly string[], around: HookHostOptions): Record<string, string | undefined> {
  const secrets = new Set(around.secrets());
  const variables = around.env();
  // The gateway's own token is nobody's business, whatever a hook declares.
  const given = names.filter((name) => variables[name] !== undefined && !secrets.has(variables[name]));
  return Object.fromEntries(given.map((name) => [name, variables[name]]));
}

/** What a plugin gives: made at its first use, with a clear error where that plugin does not run. */
function createMember(
  name: string,
  { members, lookup }: HookHostOptions,
  caller: Pick<HookCall, "hook" | "options" | "signal">,
): unknown {
  const member = members().find((one) => one.name === name);
  if (member) return member.create({ ...caller, events: running()?.chain ?? [], config: lookup });
  const message = `ctx.${name} is given by a plugin that does not run: see \`portico plugins list\`.`;
  throw new PorticoError("service_unavailable", message);
}
