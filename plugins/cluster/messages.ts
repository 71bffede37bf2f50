/** The messages between processes. */

export type Message =
  | { kind: "signal"; name: string; data: unknown }
  /** The sender watches the feed of that name. It repeats this message regularly. */
  | { kind: "want"; name: string }
  | { kind: "feed"; name: string; data: unknown };

/** The route by which a message came, and by which a response to it has to go. */
export type Way = "workers" | "gateways";
