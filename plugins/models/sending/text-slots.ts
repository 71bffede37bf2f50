/** Finds the texts in responses of OpenAI's routes other than chat: completions, transcriptions, translations. */
import { withoutTokens } from "portico/secrets";

type Members = Record<string, unknown>;

/** One text of a response, or of one event of a stream. */
export interface TextSlot {
  /** Identifies the text of which this is a piece. */
  key: number;
  text: string;
  /** The whole text, repeated after its pieces. */
  isWhole?: boolean;
  /** The last piece of its text. */
  isLast?: boolean;
  set(text: string): void;
}

/** Finds the texts of a whole response. Setting one removes members that repeat the old text word by word. */
export function slotsOfResponse(response: Members): TextSlot[] {
  const slots = objectsIn(response.choices).flatMap((choice, key) =>
    slotsOfChoice(choice, "message", key),
  );
  const segments = objectsIn(response.segments);
  const parts = segments.flatMap((segment, i) => slotAt(segment, "text", i + 1));
  const [textSlot] = slotAt(response, "text", 0);
  if (textSlot === undefined) return [...slots, ...parts];
  const { set } = textSlot;
  const wholeSlot: TextSlot = {
    ...textSlot,
    set(text) {
      set(text);
      for (const segment of segments) delete segment.words;
      // handlers saw each segment alone, but not a match that spans two of them
      if (joinSegments(segments) !== withoutSpaces(text)) delete response.segments;
    },
  };
  // The whole text is last, because handlers must have changed its segments by then.
  return [...parts, wholeSlot];
}

/** Removes words and tokens without a text, which handlers could not see. Returns true if there were any. */
export function dropStray(value: Members): boolean {
  const { type } = value;
  const text = type === "transcript.text.delta" ? value.delta : value.text;
  let hasDropped = "choices" in value ? false : dropFrom(value, text);
  for (const segment of objectsIn(value.segments))
    hasDropped = dropFrom(segment, segment.text) || hasDropped;
  for (const choice of objectsIn(value.choices)) {
    const texts = [
      choice.text,
      ...objectsIn([choice.message, choice.delta]).map(({ content }) => content),
    ];
    hasDropped = dropFrom(choice, texts.find(isNonEmpty)) || hasDropped;
  }
  return hasDropped;
}

function dropFrom(holder: Members, text: unknown): boolean {
  if (isNonEmpty(text) || (holder.words == null && holder.logprobs == null)) return false;
  delete holder.words;
  delete holder.logprobs;
  return true;
}

const isNonEmpty = (text: unknown) => typeof text === "string" && text !== "";

const joinSegments = (segments: readonly Members[]) =>
  withoutSpaces(segments.map(({ text }) => text).join(""));
const withoutSpaces = (text: string) => text.replace(/\s+/g, "");

/** Finds the texts of one event of a stream. */
export function slotsOfEvent(event: Members): TextSlot[] {
  if (event.type === "transcript.text.delta") return slotAt(event, "delta", 0);
  if (event.type === "transcript.text.done")
    return slotAt(event, "text", 0).map((slot) => ({ ...slot, isWhole: true }));
  // The text of one speaker or segment, repeated while its pieces flow.
  if (event.type === "transcript.text.segment") return slotAt(event, "text", 1);
  return objectsIn(event.choices).flatMap((choice) => {
    const key = typeof choice.index === "number" ? choice.index : 0;
    return slotsOfChoice(choice, "delta", key).map((slot) => ({
      ...slot,
      isLast: choice.finish_reason != null,
    }));
  });
}

/**
 * Finds the texts of a choice. Some servers respond to a text completion in the format of chat, which is a separate
 * text if both exist.
 */
function slotsOfChoice(choice: Members, chat: "message" | "delta", key: number): TextSlot[] {
  const chatSlots = objectsIn([choice[chat]]).flatMap((message) =>
    slotAt(message, "content", -1 - key, choice),
  );
  return [...slotAt(choice, "text", key), ...chatSlots];
}

/** Returns the text of a member as a list of at most one slot. `holder` has the tokens of the text, if any. */
function slotAt(object: Members, name: string, key: number, holder = object): TextSlot[] {
  const text = object[name];
  if (typeof text !== "string") return [];
  return [
    {
      key,
      text,
      set(changed) {
        object[name] = changed;
        delete object.words;
        withoutTokens(holder);
      },
    },
  ];
}

function objectsIn(value: unknown): Members[] {
  return Array.isArray(value)
    ? value.filter((item) => typeof item === "object" && item !== null)
    : [];
}
