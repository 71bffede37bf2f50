/** What may become of a request, as the delivery log has it. */
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
