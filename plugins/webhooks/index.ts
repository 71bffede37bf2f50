/** `portico/webhooks`: the event of an accepted webhook. Types only. */

declare module "portico" {
  interface Events {
    "webhook:received": WebhookReceived;
  }
}

/** The context of `webhook:received`. */
export interface WebhookReceived {
  deliveryId: string;
  /** `wake`, `agent`, or the name of the mapping. */
  source: string;
  /** What the gateway starts: an event, a turn, or nothing. */
  action: "wake" | "agent" | "none";
  eventId?: string;
  turnId?: string;
  sessionId?: string;
  /** The headers with names in lower case and masked secrets. */
  headers: Record<string, string>;
  query: Record<string, string>;
  body: unknown;
  /** The sender's address. */
  address: string;
}
