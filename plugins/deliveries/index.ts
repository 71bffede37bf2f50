/**
 * `portico/deliveries`: results that are posted to somebody's URL. Put `deliveryItem` into the transaction that ends the
 * work: from then on the delivery is durable, and is tried until it arrives or is dead.
 */
export { deliveryItem, type DeliveryMessage, type DeliveryTarget } from "./message.ts";
export { checkTarget } from "./target.ts";

declare module "portico" {
  interface Events {
    /** A result could not be delivered and is not tried again. */
    "delivery:failed": {
      deliveryId: string;
      /** Without credentials. */
      url: string;
      /** `turn.completed`, `turn.failed` */
      type: string;
      attempts: number;
      error: { code: string; message: string };
    };
  }
}
