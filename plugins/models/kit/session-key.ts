/** Names of the sessions of client keys. */

/** Returns the session for a name that a client key sends. It is never one of another key, nor one of the owner. */
export function keySession(key: string, name: string): string {
  return `key:${key.replace(/[%:]/g, encodeURIComponent)}:${name}`;
}

/** Whether the client named no session: `chat`, or that of its key. */
export function isUnnamedSession(session: string): boolean {
  return session === "" || /^(key:[^:]*:)?chat$/.test(session);
}
