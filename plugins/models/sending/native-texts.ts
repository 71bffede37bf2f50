/**
 * `message:sending` for a whole response in a native format: changes only its texts, so that everything else stays
 * unchanged.
 */
import { type NativeText, parseExact, stringifyExact } from "portico/provider";
import { type ChatResponse, completionOf } from "../chat-response.ts";
import { withText } from "./chat-texts.ts";
import { changedPieces } from "./pieces.ts";

const NAMES = ["content", "refusal"] as const;

/** Returns undefined for a response of which only a translation can be changed. */
export async function offerNative(
  response: ChatResponse,
  offer: (text: string) => Promise<string>,
): Promise<ChatResponse | undefined> {
  if (response.native !== true || response.nativeTexts === undefined) return undefined;
  const value = parseExact(response.body!.toString("utf8")) as Record<string, unknown>;
  const texts = response.nativeTexts(value);
  let completion = completionOf(response);
  for (const name of NAMES) {
    const matching = texts.filter((text) => text.name === name);
    const text = matching.map((slot) => slot.text).join("");
    const offered = text === "" ? text : await offer(text);
    if (offered === text) continue;
    setTexts(matching, offered);
    const [choice, ...others] = completion.choices;
    const message = withText(choice!.message, name, offered);
    completion = { ...completion, choices: [{ ...choice!, message }, ...others] };
  }
  if (completion === response.completion) return response;
  return { ...response, completion, body: Buffer.from(stringifyExact(value)) };
}

function setTexts(texts: readonly NativeText[], changed: string): void {
  const pieces = changedPieces(
    texts.map(({ text }) => text),
    changed,
  );
  for (const [i, text] of texts.entries()) if (text.text !== pieces[i]) text.set(pieces[i]!);
}
