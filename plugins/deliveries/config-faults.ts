/** Targets of a configuration that nothing is ever delivered to. */
import { type ConfigFault, isPorticoError } from "portico";
import { definitionFault } from "portico/strings";
import type { DeliveryTarget } from "./message.ts";
import { checkTarget } from "./target.ts";

/**
 * What is wrong with the delivery that stands at `path` (`…`, `delivery`), whatever the settings: a narrower
 * `deliveries.hostnameAllowlist` may be set while entries still name other hosts, and refuses them when they deliver.
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
