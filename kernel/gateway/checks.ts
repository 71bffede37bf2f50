/** The checks before a gateway listens. */
import type { ConfigStore } from "../config/config.ts";
import { ConfigError, type ConfigProblem } from "../config/config-error.ts";
import type { KernelConfig } from "../config/schema.ts";
import { isOwnMachine } from "../net/address.ts";
import { parseKeyPath, valueAt } from "../text/key-path.ts";
import type { Logger } from "../contract/index.ts";

/**
 * Throws if the configuration is invalid. A missing section is only logged: it concerns its plugin alone, which fails.
 */
export function checkAtStart(config: ConfigStore, log: Logger): void {
  try {
    config.check();
  } catch (error) {
    const isMissingSection = ({ key }: ConfigProblem) =>
      key !== "" && valueAt(config.raw, parseKeyPath(key).slice(0, 1)) === undefined;
    if (!(error instanceof ConfigError && error.problems.every(isMissingSection))) throw error;
    log.warn({ err: error }, `incomplete configuration: ${error.message}`);
  }
}

/**
 * Returns a warning if tokens cross the network in clear text. There is none on loopback, with TLS, or behind a proxy.
 */
export function exposureNotices({ bind, tls, trustedProxies }: KernelConfig["gateway"]): string[] {
  const notice = `gateway.bind is ${bind} and tokens cross the network in clear text. Set gateway.tls, or gateway.trustedProxies if a proxy in front of the gateway speaks TLS.`;
  return isOwnMachine(bind) || tls !== undefined || trustedProxies.length > 0 ? [] : [notice];
}
