/** Finds targets in a configuration that no delivery can ever reach. */
import { type ConfigFault, isPorticoError } from "portico";
import { definitionFault } from "portico/strings";
import type { DeliveryTarget } from "./message.ts";
import { checkTarget } from "./target.ts";

/**
 * Returns what is wrong with the delivery at `path` (`…`, `delivery`) under any settings. It ignores
 * `deliveries.hostnameAllowlist`, which may exclude hosts that entries still name: it refuses them when they deliver.
 */
export function deliveryFaults(delivery: unknown, path: readonly string[]): ConfigFault[] {
  if (typeof delivery !== "object" || delivery === null) return [];
  const param = "delivery";
  try {
    checkTarget(delivery as DeliveryTarget, param);
    return [];
  } catch (error) {
    const isLocated = isPorticoError(error) && error.param?.startsWith(`${param}.`) === true;
    return [definitionFault(error, isLocated ? path.slice(0, -1) : path)];
  }
}
