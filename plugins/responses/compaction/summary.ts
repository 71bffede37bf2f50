/** Summaries of conversations, sealed into an item that clients keep and send back as it is. */

const MARK = "portico.summary.";

export function sealSummary(summary: string): string {
  return MARK + Buffer.from(summary).toString("base64url");
}

/** The summary as the user's message to the model; undefined for what somebody else has sealed. */
export function openSummary(sealed: unknown): string | undefined {
  if (typeof sealed !== "string" || !sealed.startsWith(MARK)) return undefined;
  const summary = Buffer.from(sealed.slice(MARK.length), "base64url").toString("utf8");
  return `This is a summary of the conversation so far, in place of its messages:\n\n${summary}`;
}
