/** Names of sessions, in a form that lists, logs and prompts can show on one line without hidden characters. */
import { errors } from "./errors.ts";

/** Control and format characters, line separators: for a regular expression's class. */
const UNSEEN = "\\u0000-\\u001f\\u007f-\\u009f\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u2069\\ufeff";
const unseen = new RegExp(`[${UNSEEN}]`, "g");
const LONGEST = 256;

/** For a schema: nothing unseen in it. */
export const PLAIN_NAME = `^[^${UNSEEN}]*$`;

/** The name without what cannot be seen; for names that are made of what came in. Throws `invalid_request_error` where nothing is left. */
export function cleanSessionName(text: string): string {
  const name = text.replace(unseen, "").slice(0, LONGEST).trim();
  if (name !== "") return name;
  throw errors.emptySessionName({ param: "session" });
}
