/** Mounts the routes, upgrades and error forms of a plugin. */
import type { Dispose, Method, Mount } from "../../../contract/index.ts";
import { principalOf } from "../../principals.ts";
import { errors } from "../errors.ts";
import { type Registrar, requireHandler } from "./registrar.ts";

const METHODS: readonly (Method | "")[] = ["", "GET", "POST", "PUT", "PATCH", "DELETE"];
const PATH = /^\/[^?#\s]*$/;

/** Stages one registration, and returns its undo. */
type Stage = Registrar["stage"];

/**
 * Wraps a mount for a plugin. `stage` may collect the undos of a server that can be closed before the plugin is
 * unloaded.
 */
export function pluginMount(
  mount: Mount,
  registrar: Registrar,
  stage: Stage = (label, register) => registrar.stage(label, register),
): Mount {
  return {
    route(method, path, options, handler): Dispose {
      const label = `route ${method} ${path}`;
      requireHandler(label, handler);
      if (!METHODS.includes(method) || !PATH.test(path)) {
        const why = "it needs the method GET, POST, PUT, PATCH or DELETE, and a path such as /a/:b";
        throw errors.misusedCall({ call: label, why });
      }
      const attributedHandler = registrar.attribute(handler, ({ client }) => principalOf(client));
      return stage(label, () => mount.route(method, path, options, attributedHandler));
    },
    upgrade(path, options, handler): Dispose {
      const label = `upgrade ${path}`;
      requireHandler(label, handler);
      const attributedHandler = registrar.attribute(handler, () => "outside");
      return stage(label, () => mount.upgrade(path, options, attributedHandler));
    },
    errors: (prefix, form, options) =>
      stage(`errors ${prefix}`, () => mount.errors(prefix, form, options)),
  };
}
