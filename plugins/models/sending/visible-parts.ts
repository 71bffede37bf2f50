/** Parts of a stream that a reader sees: of a message, of a refusal in its place, of the transcript of audio. */
import { isObject, type StreamPart } from "portico/provider";
import type { TextName } from "./chat-texts.ts";

export type VisiblePart = Extract<StreamPart, { type: "text" | "reasoning" | "refusal" | "audio" }>;

export function isVisible(part: StreamPart): part is VisiblePart {
  if (part.type === "audio") return part.transcript !== "";
  return part.type === "text" || part.type === "refusal";
}

export function textNameOf(part: VisiblePart): TextName {
  if (part.type === "audio") return "transcript";
  return part.type === "refusal" ? "refusal" : "content";
}

export function visibleText(part: VisiblePart): string {
  return part.type === "audio" ? part.transcript : part.text;
}

export function createVisiblePart(choice: number, name: TextName, text: string): StreamPart {
  if (name === "transcript") return { type: "audio", choice, transcript: text, members: {} };
  return { type: name === "content" ? "text" : "refusal", choice, text };
}

/** Creates the part that replaces a run of parts. Audio data would still speak the old words, so it is removed. */
export function withVisibleText(
  first: VisiblePart,
  text: string,
  run: readonly VisiblePart[],
): StreamPart {
  if (first.type !== "audio") return createVisiblePart(first.choice, textNameOf(first), text);
  const all = run.map((part) =>
    part.type === "audio" && isObject(part.members) ? part.members : {},
  );
  const members: Record<string, unknown> = Object.assign({}, ...all);
  if (members["data"] != null) members["data"] = "";
  return { type: "audio", choice: first.choice, transcript: text, members };
}
