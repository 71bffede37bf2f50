/** Registers the effects of one version of a plugin, with an undo for each, and checks its arguments. */
import type { Dispose, Logger, Principal } from "../../../contract/index.ts";
import type { Scope } from "../../../timing/scope.ts";
import { runAs } from "../../owner.ts";
import { errors } from "../errors.ts";

export interface RegistrarOptions {
  /** The name of the plugin. */
  name: string;
  log: Logger;
  scope: Scope;
  /** False for the package's own plugins, because tracing their stray errors would slow down every promise a little. */
  isTraced: boolean;
}

type Work = (...args: never[]) => unknown;

export class Registrar {
  readonly name: string;
  readonly owner: string;
  readonly log: Logger;
  readonly scope: Scope;
  readonly isTraced: boolean;

  constructor({ name, log, scope, isTraced }: RegistrarOptions) {
    this.name = name;
    this.owner = `plugin:${name}`;
    this.log = log;
    this.scope = scope;
    this.isTraced = isTraced;
  }

  /** Registers an effect at once: one that is harmless even if the setup fails later. */
  add(label: string, undo: Dispose): Dispose {
    return this.scope.add(label, undo);
  }

  /** Registers an effect when the setup has succeeded. */
  stage(label: string, register: () => Dispose): Dispose {
    return this.scope.stage(label, register);
  }

  /**
   * Wraps a function so that its errors and events are traceable to the plugin. `principalOf` returns whom a call
   * serves; without it, the plugin acts on its own, for the owner.
   */
  attribute<A extends unknown[], R>(
    work: (...args: A) => R,
    principalOf: (...args: A) => Principal = () => "owner",
  ): (...args: A) => R {
    if (!this.isTraced) return work;
    return (...args) => runAs(this.owner, () => work(...args), { principal: principalOf(...args) });
  }
}

/** Throws if a handler is not a function, so that the stack names the line that registers it. */
export function requireHandler(call: string, handler: Work): void {
  if (typeof handler !== "function")
    throw errors.misusedCall({ call, why: "its handler must be a function" });
}
