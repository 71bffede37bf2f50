/** Sessions of client keys. */

/** The session for a name that a client key gives: never one of another key's, nor one of the owner's. */
export function keySession(key: string, named: string): string {
  return `key:${key.replace(/[%:]/g, encodeURIComponent)}:${named}`;
}

/** The client named no session: `chat`, or that of its key. */
export function isUnnamedSession(session: string): boolean {
  return session === "" || /^(key:[^:]*:)?chat$/.test(session);
}
