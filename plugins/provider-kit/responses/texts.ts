/** Finds the texts that a response, or an event of its stream, contains as a whole. */
import { isObject } from "../request/is-object.ts";
import type { NativeText } from "../types/provider.ts";
import { membersOf } from "./response-object.ts";

type Members = Record<string, unknown>;

/** A text of the response. */
export interface ResponseText {
  /** Identifies the text within the response: see `placeOf`. */
  place: string;
  kind: "text" | "refusal";
  text: string;
  /** Replaces the text. */
  set(text: string): void;
}

/** Returns the place of the text that an event belongs to: the indexes of the item, and of the part within it. */
export function placeOf(event: { output_index?: unknown; content_index?: unknown }): string {
  const { output_index: item, content_index: part } = event;
  return `${item ?? 0}.${part ?? 0}`;
}

/** Returns the texts in an event. Empty for events that contain only a fragment of a text, or none. */
export function textsInEvent(type: string, event: Members): ResponseText[] {
  switch (type) {
    case "response.output_text.done":
      return textAt(placeOf(event), event, "text");
    case "response.refusal.done":
      return textAt(placeOf(event), event, "refusal");
    case "response.content_part.done":
      return textOfPart(placeOf(event), event["part"]);
    case "response.output_item.done":
      return textsOfItem(Number(event["output_index"] ?? 0), event["item"]);
    case "response.completed":
    case "response.incomplete":
      return textsInResponse(membersOf(event["response"]));
    default:
      return [];
  }
}

export function textsInResponse({ output }: Members): ResponseText[] {
  return Array.isArray(output) ? output.flatMap((item, i) => textsOfItem(i, item)) : [];
}

/** Returns the texts of a whole response, for handlers. */
export function nativeTexts(response: Members): NativeText[] {
  return textsInResponse(response).map(({ kind, text, set }) => {
    return { name: kind === "text" ? "content" : "refusal", text, set };
  });
}

function textsOfItem(index: number, item: unknown): ResponseText[] {
  const { type, content } = membersOf(item);
  if (type !== "message" || !Array.isArray(content)) return [];
  return content.flatMap((part, i) => textOfPart(`${index}.${i}`, part));
}

function textOfPart(place: string, part: unknown): ResponseText[] {
  if (!isObject(part)) return [];
  if (part["type"] === "output_text") return textAt(place, part, "text");
  return part["type"] === "refusal" ? textAt(place, part, "refusal") : [];
}

function textAt(place: string, holder: Members, kind: ResponseText["kind"]): ResponseText[] {
  const text = holder[kind];
  if (typeof text !== "string") return [];
  const set = (newText: string) => {
    holder[kind] = newText;
    // The probabilities are those of the replaced text.
    if ("logprobs" in holder) holder["logprobs"] = [];
  };
  return [{ place, kind, text, set }];
}
