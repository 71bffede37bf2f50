/**
 * The public face: everything that a plugin or a hook imports from "portico".
 *
 * @example
 * import { definePlugin, Type } from "portico";
 * export default definePlugin({ name: "hello", setup(ctx) { … } });
 */
import type { ConfigSchemas, PluginDefinition } from "./contract/index.ts";

export { type Static, type TSchema, Type } from "@sinclair/typebox";
export { type ConfigProblem, problemText } from "./config/config-error.ts";
export type { PortableConfig } from "./config/portable.ts";
export type { ConfigEdit } from "./config/edits.ts";
export type { VersionInfo } from "./config/versions.ts";
export type { ConfigWritten } from "./config/write.ts";
export { parseKeyPath } from "./text/key-path.ts";
export { readValue as readConfigValue } from "./home/config-file.ts";
export { isSecretHeader, isSecretName, MASK, maskAddress } from "./config/secrets.ts";
export { runBounded } from "./loader/bounded.ts";
export type { ExtensionRecord } from "./host/extensions/record.ts";
export type { Problem } from "./loader/problem.ts";
export type { PluginRecord } from "./host/extensions/plugins/record.ts";
export type { HookInfo } from "./host/extensions/hooks/record.ts";
export type { HookTrial } from "./host/extensions/hooks/try-out.ts";
export type { HookFailure, HookRun, IgnoredEffect } from "./host/extensions/hooks/version.ts";
export type { GatewayState, Management } from "./gateway/services.ts";
export type { HomeOnDisk } from "./program/home.ts";
export { beganAt } from "./home/running.ts";
export type { StartedGateway } from "./program/start.ts";
export type { CommandLine, OutputStream, Program } from "./program/program.ts";
export type { HookLogLine } from "./log/kept-lines.ts";
export { BoundedMap } from "./memory/bounded-map.ts";
export { isPorticoError, PorticoError } from "./errors.ts";
export { type Networks, parseNetworks, refuseNetwork } from "./net/address.ts";
export { listenError } from "./http/listen-error.ts";
export { bearerOf, occursTwice } from "./http/access/auth.ts";
export { inBurst } from "./http/response/burst.ts";
export { reply } from "./http/response/reply.ts";
export { checkJsonType, parseJson } from "./http/body/json.ts";
export { limitError } from "./http/body/limits.ts";
export { exactJson } from "./text/exact-json.ts";
export type { JsonLimits } from "./text/json-scan.ts";
export { createThrottle, type Throttle } from "./http/access/throttle.ts";
export { type Secret, secretOf } from "./http/access/secret.ts";
export {
  currentPrincipal,
  partsOf,
  principalNamed,
  principalOf,
  readPrincipal,
} from "./host/principals.ts";
export { isHookName } from "./host/extensions/hooks/name.ts";
export { didYouMean } from "./text/nearest.ts";
export { compile } from "./schema/check.ts";
export { timerMs } from "./schema/timer.ts";
export { endOrLate, withDeadline } from "./timing/deadline.ts";
export { Scope } from "./timing/scope.ts";
export { absolutePath, type HomeOptions } from "./files/paths.ts";
export * from "./contract/index.ts";

/** Checks a plugin's definition at compile time and gives `setup` the types of its configuration. */
export function definePlugin<const C extends ConfigSchemas = Record<never, never>>(
  definition: PluginDefinition<C>,
): PluginDefinition<C> {
  return definition;
}
