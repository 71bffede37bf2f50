/** Parts of a stream that a reader sees: of a message, of a refusal in its place, of the words of a sound. */
import { isObject, type StreamPart } from "portico/provider";
import type { TextName } from "./chat-texts.ts";

export type Spoken = Extract<StreamPart, { type: "text" | "reasoning" | "refusal" | "audio" }>;

export function isSpoken(part: StreamPart): part is Spoken {
  if (part.type === "audio") return part.transcript !== "";
  return part.type === "text" || part.type === "refusal";
}

export function nameOfSpoken(part: Spoken): TextName {
  if (part.type === "audio") return "transcript";
  return part.type === "refusal" ? "refusal" : "content";
}

export function spokenText(part: Spoken): string {
  return part.type === "audio" ? part.transcript : part.text;
}

export function spokenPart(choice: number, name: TextName, text: string): StreamPart {
  if (name === "transcript") return { type: "audio", choice, transcript: text, members: {} };
  return { type: name === "content" ? "text" : "refusal", choice, text };
}

/** A part of the run with a text of its own. A sound would say what its words said: it goes. */
export function withSpokenText(first: Spoken, text: string, run: readonly Spoken[]): StreamPart {
  if (first.type !== "audio") return spokenPart(first.choice, nameOfSpoken(first), text);
  const all = run.map((part) =>
    part.type === "audio" && isObject(part.members) ? part.members : {},
  );
  const members: Record<string, unknown> = Object.assign({}, ...all);
  if (members["data"] != null) members["data"] = "";
  return { type: "audio", choice: first.choice, transcript: text, members };
}
