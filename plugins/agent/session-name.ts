/** Cleans session names, so that lists, logs and prompts can show them on one line without hidden characters. */
import { errors } from "./errors.ts";

/**
 * Control characters, format characters and line separators, as the content of a regular expression's character class.
 */
const INVISIBLE =
  "\\u0000-\\u001f\\u007f-\\u009f\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u2069\\ufeff";
const invisibleCharacters = new RegExp(`[${INVISIBLE}]`, "g");
const MAX_LENGTH = 256;

/** The pattern for schemas: the name has no invisible characters. */
export const PLAIN_NAME = `^[^${INVISIBLE}]*$`;

/**
 * Removes invisible characters from a name that contains external data. Throws `invalid_request_error` if nothing is
 * left.
 */
export function cleanSessionName(text: string): string {
  const name = text.replace(invisibleCharacters, "").slice(0, MAX_LENGTH).trim();
  if (name !== "") return name;
  throw errors.emptySessionName({ param: "session" });
}
