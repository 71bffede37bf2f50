/**
 * `portico/deliveries`: posts results to URLs. Put `deliveryItem` into the transaction that ends the work: from then on the
 * delivery is durable, and is tried until it arrives or is dead.
 */
import type { DeliveriesService } from "./stored-target.ts";
import type { DeliveryTarget } from "./message.ts";

export { deliveryFaults } from "./config-faults.ts";
export {
  deliveryItem,
  type DeliveryMessage,
  type DeliveryTarget,
  type StoredTarget,
} from "./message.ts";
export {
  openPayload,
  payloadForEvent,
  sealPayload,
  sealStoredPayloads,
  targetsIn,
  viewPayload,
} from "./stored-payload.ts";
export { checkTarget } from "./target.ts";
export { eventPlaceholders, withEventValues } from "./templates.ts";

declare module "portico" {
  interface Services {
    deliveries: DeliveriesService;
  }
  interface Contributions {
    /** Targets in the owner's configuration, by their paths. The store holds references in place of their secrets. */
    deliveryTargets: { name: string; list(): Record<string, DeliveryTarget> };
  }
  interface Events {
    /** A result could not be delivered, and the gateway will not try again. */
    "delivery:failed": {
      deliveryId: string;
      /** The URL of the receiver without credentials. */
      url: string;
      /** `turn.completed` or `turn.failed`. */
      type: string;
      attempts: number;
      error: { code: string; message: string };
    };
  }
}
