/** The face `portico/command-line`: what a plugin needs for commands, for checks of `portico doctor`, and for `plugins new`. */
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
    /** Command word → its definition, loaded only when the word is used. */
    commands?: Record<string, () => Promise<{ default: Command }>>;
    /** Lines to copy with what each does, for the help of the bare `portico`. */
    firstSteps?: readonly (readonly [line: string, what: string])[];
    /** What is looked at → how: `portico doctor` asks it, without setting the plugin up. */
    checks?: Record<string, () => Promise<{ default: HealthCheck }>>;
    /** Kind → the files of a plugin of that kind, for `portico plugins new NAME --kind KIND`. */
    templates?: Record<string, () => Promise<{ default: PluginTemplate }>>;
  }
  interface Contributions {
    banner: Banner;
    notice: Notice;
  }
  interface Workers {
    /**
     * What a connection of the gateway's is still sent where this worker is killed; without `words`, no more. Has no effect
     * where TLS is spoken over it.
     */
    lastWords(socket: Socket | null, words?: Uint8Array): void;
  }
}
