/** What the webhooks share with hooks and feeds. Types only. */

declare module "portico" {
  interface Events {
    /** A webhook was accepted and is on stable storage. */
    "webhook:received": {
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
    };
  }
}
