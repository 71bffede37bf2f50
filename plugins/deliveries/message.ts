/** The message of a delivery, and the work item that holds it. */
import type { PluginContext, Principal } from "portico";
import type { NewItem } from "portico/store";

/** The receiver of a result. */
export interface DeliveryTarget {
  url: string;
  /** The secret (`whsec_…`) that signs deliveries by Standard Webhooks. */
  secret?: string | undefined;
  /** The values are templates: see `templates.ts`. */
  headers?: Record<string, string> | undefined;
  /** A text, or JSON whose texts are templates; without it, the message itself is posted. */
  body?: unknown;
  /** The values of the event's placeholders, by the placeholder as it is written. */
  values?: Record<string, string> | undefined;
  /** True if the owner has not written the target: then a private address in its URL is no exception. */
  publicOnly?: boolean | undefined;
}

/** A target as it is stored: its secret and headers are in the configuration, or encrypted. */
export interface StoredTarget
  extends Pick<DeliveryTarget, "url" | "publicOnly" | "body" | "values"> {
  /** The path of the target in the configuration. */
  from?: string;
  /** Its encrypted secret and headers. */
  sealed?: string;
  /** The event's placeholders in its headers. Targets that an older version stored have none, whatever their headers. */
  placeholders?: readonly string[];
}

/** The body of a delivery in the form of Standard Webhooks. */
export interface DeliveryMessage {
  type: string;
  /** ISO 8601. */
  timestamp: string;
  data: Record<string, unknown>;
}

export interface DeliveryBody {
  target: StoredTarget;
  message: DeliveryMessage;
  /** The principal whose work it reports. Deliveries of older versions have none. */
  principal?: Principal;
}

export const DELIVERY = "delivery";
const MAX_ATTEMPTS = 8;

interface NewDelivery {
  /** Identifies the work: another delivery of the same work is a duplicate. */
  of: string;
  /** `deliveryItem` seals its secrets, since a turn that an older version stored has unsealed ones. */
  target: DeliveryTarget | StoredTarget;
  message: DeliveryMessage;
  principal: Principal;
}

/** Creates the durable work item of one delivery. */
export function deliveryItem(
  ctx: Pick<PluginContext, "find">,
  { of, target, message, principal }: NewDelivery,
): NewItem {
  const id = `dlv_${of}`;
  const sealed = ctx.find("deliveries")?.seal(target) ?? target;
  const body: DeliveryBody = { target: sealed, message, principal };
  return { id, lane: id, kind: DELIVERY, body, maxAttempts: MAX_ATTEMPTS };
}
