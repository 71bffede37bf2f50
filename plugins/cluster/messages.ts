/** What one process tells another. */

export type Message =
  | { kind: "signal"; name: string; data: unknown }
  /** Somebody watches the feed of that name; said again and again. */
  | { kind: "want"; name: string }
  | { kind: "feed"; name: string; data: unknown };

/** How a message came, and where an answer to it has to go. */
export type Way = "workers" | "gateways";
