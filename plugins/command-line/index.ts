/**
 * The face `portico/command-line`: commands of plugins, checks of `portico doctor`, and templates of `portico plugins new`.
 */
import type { Socket } from "node:net";
import type { ConfigSchemas } from "portico";
import type { Command } from "./command.ts";
import type { Banner, HealthCheck, Notice, PluginTemplate } from "./offers.ts";

export type { GatewayClient, RequestOptions } from "./client.ts";
export {
  type ArgSpec,
  type Command,
  type CommandIO,
  defineCommand,
  type OptionSpec,
  type ServePart,
} from "./command.ts";
export type {
  Banner,
  CheckContext,
  Finding,
  HealthCheck,
  Notice,
  PluginTemplate,
} from "./offers.ts";
export { nextPageLines, pageOptions, periodOptions } from "./page-options.ts";
export {
  commandFor,
  type RouteArgument,
  type RouteCommand,
  type RouteOption,
  type RoutePlace,
} from "./route-command.ts";

declare module "portico" {
  interface PluginDefinition<C extends ConfigSchemas> {
    /** Command name → its definition, loaded only when the command is used. */
    commands?: Record<string, () => Promise<{ default: Command }>>;
    /** Lines to copy, each with its explanation, for the help of the bare `portico`. */
    firstSteps?: readonly (readonly [line: string, what: string])[];
    /** Name of a check → the check. `portico doctor` runs it without setting the plugin up. */
    checks?: Record<string, () => Promise<{ default: HealthCheck }>>;
    /** Kind → the template of a plugin of that kind, for `portico plugins new NAME --kind KIND`. */
    templates?: Record<string, () => Promise<{ default: PluginTemplate }>>;
  }
  interface Contributions {
    banner: Banner;
    notice: Notice;
  }
  interface Workers {
    /**
     * Sets the bytes that the connection's client still receives if this worker is killed. Without `words`, removes them.
     * Has no effect on TLS connections.
     */
    lastWords(socket: Socket | null, words?: Uint8Array): void;
  }
}
