/** Encodes summaries of conversations for an item that clients store and send back unchanged. */

const MARK = "portico.summary.";

export function sealSummary(summary: string): string {
  return MARK + Buffer.from(summary).toString("base64url");
}

/** Returns the summary as a user's message to the model; undefined for contents that another program sealed. */
export function openSummary(sealed: unknown): string | undefined {
  if (typeof sealed !== "string" || !sealed.startsWith(MARK)) return undefined;
  const summary = Buffer.from(sealed.slice(MARK.length), "base64url").toString("utf8");
  return `This is a summary of the conversation so far, in place of its messages:\n\n${summary}`;
}
