/** What is looked at before a gateway opens its door. */
import type { ConfigStore } from "../config/config.ts";
import { ConfigError, type ConfigProblem } from "../config/error.ts";
import { PorticoError } from "../errors.ts";
import { isLoopback } from "../http/address.ts";
import { parseKeyPath, valueAt } from "../text/key-path.ts";
import type { Logger } from "../types.ts";

/** What the file says must be right. A section that it lacks is its plugin's affair: that one fails alone. */
export function checkAtStart(config: ConfigStore, log: Logger): void {
  try {
    config.check();
  } catch (error) {
    const isLack = ({ key }: ConfigProblem) =>
      key !== "" && valueAt(config.raw, parseKeyPath(key).slice(0, 1)) === undefined;
    if (!(error instanceof ConfigError && error.problems.every(isLack))) throw error;
    log.warn({ err: error }, `incomplete configuration: ${error.message}`);
  }
}

/** A token made at this start does not count: whoever opens the door to others shall have chosen the key. */
export function refuseOpenDoor({ bind, auth }: { bind: string; auth: { token?: string; password?: string } }): void {
  if (bind === "localhost" || isLoopback(bind) || auth.token || auth.password) return;
  throw new PorticoError(
    "config_error",
    `gateway.bind is ${bind}, which others can reach: set gateway.auth.token or gateway.auth.password in the configuration first.`,
  );
}
