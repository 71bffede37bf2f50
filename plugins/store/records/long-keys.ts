/** Limits the length of keys. Keys from outside may have any length, but PostgreSQL indexes at most 2,700 bytes. */
import { createHash } from "node:crypto";
import { errors } from "../errors.ts";

const MAX_KEY_CHARS = 500;
const MAX_NAME_BYTES = 2000;

/** Shortens a long key to its beginning and a hash. Such a key can only be compared. */
export function shortenKey(key: string): string {
  if (key.length <= MAX_KEY_CHARS) return key;
  return `${key.slice(0, MAX_KEY_CHARS / 2)}… sha256 ${createHash("sha256").update(key).digest("base64")}`;
}

/** Throws `invalid_request_error` for a key that is too long to be listed. */
export function refuseLong(namespace: string, key: string): void {
  const bytes = Buffer.byteLength(namespace) + Buffer.byteLength(key);
  if (bytes > MAX_NAME_BYTES)
    throw errors.keyTooLong({ key: key.slice(0, 40), bytes, max: MAX_NAME_BYTES });
}
