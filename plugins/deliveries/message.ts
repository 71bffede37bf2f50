/** What goes out, and the work item that carries it. */
import type { PluginContext, Principal } from "portico";
import type { NewItem } from "portico/store";

/** Where a result goes. */
export interface DeliveryTarget {
  url: string;
  /** `whsec_…`: signs by Standard Webhooks. */
  secret?: string | undefined;
  /** Templates: see `templates.ts`. */
  headers?: Record<string, string> | undefined;
  /** A text, or JSON whose texts are templates; without it, the message itself is posted. */
  body?: unknown;
  /** What the event has for its placeholders, by these as they are written. */
  values?: Record<string, string> | undefined;
  /** Not the owner's words: a private address is refused, however it is written. */
  publicOnly?: boolean | undefined;
}

/** A target as it is stored: its secret and headers stand in the configuration, or are encrypted. */
export interface StoredTarget
  extends Pick<DeliveryTarget, "url" | "publicOnly" | "body" | "values"> {
  /** The path of the configuration where the target stands. */
  from?: string;
  /** Its encrypted secret and headers. */
  sealed?: string;
  /** The event's placeholders in its headers. Targets that an older version stored have none, whatever their headers. */
  placeholders?: readonly string[];
}

/** What is posted, as Standard Webhooks has it. */
export interface DeliveryMessage {
  type: string;
  /** ISO 8601. */
  timestamp: string;
  data: Record<string, unknown>;
}

export interface DeliveryBody {
  target: StoredTarget;
  message: DeliveryMessage;
  /** Whose work it tells of. Deliveries of older versions have none. */
  principal?: Principal;
}

export const DELIVERY = "delivery";
const MOST_ATTEMPTS = 8;

interface NewDelivery {
  /** What it is about: the same again is no second delivery. */
  of: string;
  /** Its secrets are sealed here, since those of a turn that an older version stored are not. */
  target: DeliveryTarget | StoredTarget;
  message: DeliveryMessage;
  principal: Principal;
}

/** The durable work item of one delivery. */
export function deliveryItem(
  ctx: Pick<PluginContext, "find">,
  { of, target, message, principal }: NewDelivery,
): NewItem {
  const id = `dlv_${of}`;
  const sealed = ctx.find("deliveries")?.seal(target) ?? target;
  const body: DeliveryBody = { target: sealed, message, principal };
  return { id, lane: id, kind: DELIVERY, body, maxAttempts: MOST_ATTEMPTS };
}
