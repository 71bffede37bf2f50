/** The outcomes of requests in the delivery log. */
export const OUTCOMES = [
  "accepted",
  "duplicate",
  "skipped",
  "challenge",
  "refused",
  "unauthorized",
  "limited",
  "failed",
] as const;
