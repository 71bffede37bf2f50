/** Every error of the host of extensions that reaches a caller. */
import { PorticoError } from "../../errors.ts";

export const errors = PorticoError.table({
  unknownHook: {
    code: "hook_not_found",
    status: 404,
    message: "There is no hook {name}. `portico hooks list` shows all hooks.",
  },
  unknownPlugin: {
    code: "plugin_not_found",
    status: 404,
    message: "There is no plugin {name}. `portico plugins list` shows all plugins.",
  },
  needsNoApproval: {
    code: "invalid_request_error",
    message: "{name} is not a workspace hook. Only workspace hooks need an approval.",
  },
  cannotBeApproved: {
    code: "conflict",
    message: "{name} cannot be approved: {why}.",
  },
  mayNotRun: {
    code: "conflict",
    message: "{name} may not run: {reasons}.",
  },
  doesNotLoad: {
    code: "conflict",
    message: "{name} cannot be loaded: {problem}.",
  },
  /** A hook uses a member of its `ctx` that a plugin provides. */
  memberMissing: {
    code: "service_unavailable",
    message: "ctx.{name} comes from a plugin that is not running. See `portico plugins list`.",
  },
  /** A plugin passes its context an argument that the call does not accept. */
  misusedCall: {
    code: "internal_error",
    message: "{call}: {why}",
  },
  /** The event belongs to the gateway or to another plugin. */
  foreignEvent: {
    code: "internal_error",
    message: "{event} belongs to {owner}: declare an event of your own, such as {plugin}:done",
  },
  unfitContribution: {
    code: "internal_error",
    message: "it cannot contribute this {point}: {why}",
  },
  foreignSection: {
    code: "forbidden",
    message: "The plugin {name} does not declare {key}.",
  },
});
