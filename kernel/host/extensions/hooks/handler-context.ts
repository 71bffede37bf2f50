/** Creates the `ctx` of a handler. Its members are looked up at the moment of use, because services come and go. */
import { derived } from "../../../memory/derived.ts";
import { currentOwner } from "../../owner.ts";
import { errors } from "../errors.ts";
import type { EventName, Events, HookCall, HookContext, Logger } from "../../../contract/index.ts";
import type { HookHostOptions } from "./settings.ts";
import type { HookVersion } from "./version.ts";

/** Creates the context of one call. */
export function createHandlerContext(
  version: HookVersion,
  host: HookHostOptions,
  call: Pick<HookCall, "signal" | "principal">,
  log: Logger,
): HookContext {
  const { name, realDir } = version.candidate;
  const { home, state, workspace } = host.paths;
  // Members that most calls do not use are created on demand.
  const makeMember = (member: string) => {
    if (member === "signal") return call.signal;
    // The copy keeps a handler from changing the configuration. It omits the keys that Portico itself reads.
    const { enabled, env, ...options } = structuredClone(host.settings().entries[name] ?? {});
    if (member === "config") return options;
    if (member === "env")
      return { ...requiredEnvironment(version.meta.requires.env, host), ...env };
    const { signal, principal } = call;
    return createMember(member, host, { hook: name, options, signal, principal });
  };
  return new (contextClassFor(host.memberNames()))({
    [memberFactory]: makeMember,
    log,
    unloaded: version.ended.signal,
    paths: { home, state, workspace, hook: realDir },
    emit: async <K extends EventName>(event: K, context: Events[K]) =>
      host.bus.emit(event, context, { principal: call.principal }),
  }) as HookContext;
}

/** The key of the function that creates a context's members on demand. */
const memberFactory = Symbol("make");
/**
 * Returns a context class for the names of plugins' members. Defining their getters for each call would take longer
 * than most handlers do.
 */
const contextClassFor = derived((names: readonly string[]): (new (own: object) => object) => {
  const Context = class {
    constructor(members: object) {
      Object.assign(this, members);
    }
  };
  for (const member of ["signal", "config", "env", ...names]) {
    const get = function (this: { [memberFactory](member: string): unknown }) {
      const value = this[memberFactory](member);
      Object.defineProperty(this, member, { value, enumerable: true });
      return value;
    };
    Object.defineProperty(Context.prototype, member, { get, enumerable: true });
  }
  return Context;
});

function requiredEnvironment(
  names: readonly string[],
  host: HookHostOptions,
): Record<string, string | undefined> {
  const secrets = new Set(host.secrets());
  const variables = host.env();
  // No hook receives the gateway's own token, whatever it declares.
  const permitted = names.filter(
    (name) => variables[name] !== undefined && !secrets.has(variables[name]),
  );
  return Object.fromEntries(permitted.map((name) => [name, variables[name]]));
}

/** Creates a member that a plugin provides. Throws `service_unavailable` if the plugin is not running. */
function createMember(
  name: string,
  { members, lookup }: HookHostOptions,
  caller: Pick<HookCall, "hook" | "options" | "signal" | "principal">,
): unknown {
  const member = members().find((candidate) => candidate.name === name);
  if (member)
    return member.create({ ...caller, events: currentOwner()?.chain ?? [], config: lookup });
  throw errors.memberMissing({ name });
}
