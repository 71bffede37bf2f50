/** Keys that come from outside may have any length, but PostgreSQL's index takes none of more than 2,700 bytes. */
import { createHash } from "node:crypto";
import { errors } from "../errors.ts";

const LONGEST = 500;
const LONGEST_NAME_BYTES = 2000;

/** Of a key that is only ever compared: a long one's beginning and its hash. */
export function shortKey(key: string): string {
  if (key.length <= LONGEST) return key;
  return `${key.slice(0, LONGEST / 2)}… sha256 ${createHash("sha256").update(key).digest("base64")}`;
}

/** Throws `invalid_request_error` for a key that is too long to be listed. */
export function refuseLong(namespace: string, key: string): void {
  const bytes = Buffer.byteLength(namespace) + Buffer.byteLength(key);
  if (bytes > LONGEST_NAME_BYTES)
    throw errors.keyTooLong({ key: key.slice(0, 40), bytes, max: LONGEST_NAME_BYTES });
}
