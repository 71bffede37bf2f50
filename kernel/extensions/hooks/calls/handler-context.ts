/** The `ctx` that a handler gets. Everything in it is looked up at the moment of use: services come and go. */
import { PorticoError } from "../../../errors.ts";
import { running } from "../../../owner.ts";
import type { EventName, Events, HookCall, HookContext, Logger } from "../../../types.ts";
import type { HookHostOptions } from "../settings.ts";
import type { HookVersion } from "../version.ts";

/** A call whose signal is made when somebody asks for it. */
export type Signalled = Pick<HookCall, "signal">;

/** A new context for one call. */
export function createHandlerContext(
  version: HookVersion,
  around: HookHostOptions,
  call: Signalled,
  log: Logger,
): HookContext {
  const { name, realDir } = version.candidate;
  const { home, state, workspace } = around.paths;
  const ctx = new Lazy((member) => {
    if (member === "signal") return call.signal;
    // A copy, so that a handler cannot change the configuration; without what Portico itself reads.
    const { enabled, env, ...options } = structuredClone(around.settings().entries[name] ?? {});
    if (member === "config") return options;
    if (member === "env") return { ...requiredEnvironment(version.meta.requires.env, around), ...env };
    return createMember(member, around, { hook: name, options, signal: call.signal });
  });
  for (const member of ["signal", "config", "env", ...around.memberNames()])
    Object.defineProperty(ctx, member, getterOf(member));
  const { signal: unloaded } = version.ended;
  const emit = async <K extends EventName>(event: K, context: Events[K]) => around.bus.emit(event, context);
  const own = { log, unloaded, paths: { home, state, workspace, hook: realDir }, emit };
  return Object.assign(ctx, own) as unknown as HookContext;
}

/** Members that most calls do not look at are made when one does. */
class Lazy {
  readonly #made: Record<string, unknown> = {};
  readonly #make: (member: string) => unknown;

  constructor(make: (member: string) => unknown) {
    this.#make = make;
  }
  static get(ctx: Lazy, member: string): unknown {
    return (ctx.#made[member] ??= ctx.#make(member));
  }
}

/** The same for all contexts: to make one for each would take longer than most handlers do. */
const getters = new Map<string, PropertyDescriptor>();

function getterOf(member: string): PropertyDescriptor {
  const known = getters.get(member);
  if (known) return known;
  const get = function (this: Lazy) {
    return Lazy.get(this, member);
  };
  getters.set(member, { get, enumerable: true });
  return getterOf(member);
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
