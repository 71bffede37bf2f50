/** `portico/webhooks`: the event of an accepted webhook. Types only. */

declare module "portico" {
  interface Events {
    "webhook:received": WebhookReceived;
  }
}

/** The context of `webhook:received`. */
export interface WebhookReceived {
  deliveryId: string;
  /** `wake`, `agent`, or the mapping's name. */
  source: string;
  /** What it became. */
  action: "wake" | "agent" | "none";
  eventId?: string;
  turnId?: string;
  sessionId?: string;
  /** Names in lower case; secrets are masked. */
  headers: Record<string, string>;
  query: Record<string, string>;
  body: unknown;
  /** The sender's address. */
  address: string;
}
