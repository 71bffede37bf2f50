/** Targets of a configuration that nothing is ever delivered to. */
import { type ConfigCheckSubject, type ConfigFault, isPorticoError } from "portico";
import { definitionFault } from "portico/strings";
import { guardOf } from "./guard.ts";
import type { DeliveryTarget } from "./message.ts";
import type { DeliveriesConfig } from "./schema.ts";
import { checkTarget } from "./target.ts";

/**
 * What is wrong with the delivery that stands at `path` (`…`, `delivery`), by the settings of the same configuration. Which ports are the
 * gateway's own is known only while it runs.
 */
export function deliveryFaults(
  { config }: ConfigCheckSubject,
  delivery: unknown,
  path: readonly string[],
): ConfigFault[] {
  if (typeof delivery !== "object" || delivery === null) return [];
  const target = delivery as DeliveryTarget;
  const settings = config["deliveries"] as DeliveriesConfig | undefined;
  const param = "delivery";
  try {
    checkTarget(target, param);
    if (settings !== undefined)
      guardOf({ ports: () => [] }, settings, { target, principal: "owner" }).precheck(target.url);
    return [];
  } catch (error) {
    const isLocated = isPorticoError(error) && error.param?.startsWith(`${param}.`) === true;
    return [definitionFault(error, isLocated ? path.slice(0, -1) : path)];
  }
}
