/** The `ctx` that a handler gets. Everything in it is looked up at the moment of use: services come and go. */
import { derived } from "../../../memory/derived.ts";
import { running } from "../../owner.ts";
import { errors } from "../errors.ts";
import type { EventName, Events, HookCall, HookContext, Logger } from "../../../contract/index.ts";
import type { HookHostOptions } from "./settings.ts";
import type { HookVersion } from "./version.ts";

/** A new context for one call. */
export function createHandlerContext(
  version: HookVersion,
  around: HookHostOptions,
  call: Pick<HookCall, "signal" | "principal">,
  log: Logger,
): HookContext {
  const { name, realDir } = version.candidate;
  const { home, state, workspace } = around.paths;
  // What most calls do not look at is made when one does.
  const makeMember = (member: string) => {
    if (member === "signal") return call.signal;
    // A copy, so that a handler cannot change the configuration; without what Portico itself reads.
    const { enabled, env, ...options } = structuredClone(around.settings().entries[name] ?? {});
    if (member === "config") return options;
    if (member === "env")
      return { ...requiredEnvironment(version.meta.requires.env, around), ...env };
    const { signal, principal } = call;
    return createMember(member, around, { hook: name, options, signal, principal });
  };
  return new (contextWith(around.memberNames()))({
    [make]: makeMember,
    log,
    unloaded: version.ended.signal,
    paths: { home, state, workspace, hook: realDir },
    emit: async <K extends EventName>(event: K, context: Events[K]) =>
      around.bus.emit(event, context, { principal: call.principal }),
  }) as HookContext;
}

/** Makes a member of the context that it belongs to. */
const make = Symbol("make");
/** By the names of plugins' members: to define their getters for each call would take longer than most handlers do. */
const contextWith = derived((names: readonly string[]): (new (own: object) => object) => {
  const Context = class {
    constructor(own: object) {
      Object.assign(this, own);
    }
  };
  for (const member of ["signal", "config", "env", ...names]) {
    const get = function (this: { [make](member: string): unknown }) {
      const value = this[make](member);
      Object.defineProperty(this, member, { value, enumerable: true });
      return value;
    };
    Object.defineProperty(Context.prototype, member, { get, enumerable: true });
  }
  return Context;
});

function requiredEnvironment(
  names: readonly string[],
  around: HookHostOptions,
): Record<string, string | undefined> {
  const secrets = new Set(around.secrets());
  const variables = around.env();
  // No hook receives the gateway's own token, whatever it declares.
  const permitted = names.filter(
    (name) => variables[name] !== undefined && !secrets.has(variables[name]),
  );
  return Object.fromEntries(permitted.map((name) => [name, variables[name]]));
}

/** Makes a member that a plugin provides. Throws where that plugin does not run. */
function createMember(
  name: string,
  { members, lookup }: HookHostOptions,
  caller: Pick<HookCall, "hook" | "options" | "signal" | "principal">,
): unknown {
  const member = members().find((candidate) => candidate.name === name);
  if (member) return member.create({ ...caller, events: running()?.chain ?? [], config: lookup });
  throw errors.memberMissing({ name });
}
