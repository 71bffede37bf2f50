/** Finds the texts in responses of OpenAI's routes beside chat: completions, transcriptions, translations. */
import { withoutTokens } from "portico/secrets";

type Members = Record<string, unknown>;

/** One text of a response, or of one event of a stream. */
export interface TextSlot {
  /** Of the text that it is a piece of. */
  key: number;
  text: string;
  /** The whole text, repeated behind its pieces. */
  whole?: boolean;
  /** No piece comes after this one. */
  last?: boolean;
  set(text: string): void;
}

/** The texts of a whole response. Members that repeat a changed text word by word are removed. */
export function slotsOfResponse(response: Members): TextSlot[] {
  const slots = objectsIn(response.choices).flatMap((choice, key) =>
    slotsOfChoice(choice, "message", key),
  );
  const segments = objectsIn(response.segments);
  const parts = segments.flatMap((segment, i) => slotAt(segment, "text", i + 1));
  const [own] = slotAt(response, "text", 0);
  if (own === undefined) return [...slots, ...parts];
  const { set } = own;
  const spoken: TextSlot = {
    ...own,
    set(text) {
      set(text);
      for (const segment of segments) delete segment.words;
      // offered one by one, they keep what handlers saw only where two of them meet
      if (spokenBy(segments) !== withoutSpaces(text)) delete response.segments;
    },
  };
  // last: by then its parts are as handlers leave them
  return [...parts, spoken];
}

/** Words and tokens of no text, which handlers could not see, go. True where there were some. */
export function dropStray(value: Members): boolean {
  const { type } = value;
  const own = type === "transcript.text.delta" ? value.delta : value.text;
  let dropped = "choices" in value ? false : dropFrom(value, own);
  for (const segment of objectsIn(value.segments))
    dropped = dropFrom(segment, segment.text) || dropped;
  for (const choice of objectsIn(value.choices)) {
    const texts = [
      choice.text,
      ...objectsIn([choice.message, choice.delta]).map(({ content }) => content),
    ];
    dropped = dropFrom(choice, texts.find(isSaid)) || dropped;
  }
  return dropped;
}

function dropFrom(holder: Members, text: unknown): boolean {
  if (isSaid(text) || (holder.words == null && holder.logprobs == null)) return false;
  delete holder.words;
  delete holder.logprobs;
  return true;
}

const isSaid = (text: unknown) => typeof text === "string" && text !== "";

const spokenBy = (segments: readonly Members[]) =>
  withoutSpaces(segments.map(({ text }) => text).join(""));
const withoutSpaces = (text: string) => text.replace(/\s+/g, "");

/** Those of one event of a stream. */
export function slotsOfEvent(event: Members): TextSlot[] {
  if (event.type === "transcript.text.delta") return slotAt(event, "delta", 0);
  if (event.type === "transcript.text.done")
    return slotAt(event, "text", 0).map((slot) => ({ ...slot, whole: true }));
  // Repeated while its pieces flow: of one speaker, or of one part.
  if (event.type === "transcript.text.segment") return slotAt(event, "text", 1);
  return objectsIn(event.choices).flatMap((choice) => {
    const key = typeof choice.index === "number" ? choice.index : 0;
    return slotsOfChoice(choice, "delta", key).map((slot) => ({
      ...slot,
      last: choice.finish_reason != null,
    }));
  });
}

/** Some servers answer a text completion in chat's form: that is a text of its own, should both be there. */
function slotsOfChoice(choice: Members, chat: "message" | "delta", key: number): TextSlot[] {
  const spoken = objectsIn([choice[chat]]).flatMap((message) =>
    slotAt(message, "content", -1 - key, choice),
  );
  return [...slotAt(choice, "text", key), ...spoken];
}

/** `holder`: of the text's tokens, should it have some. */
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
  return Array.isArray(value) ? value.filter((one) => typeof one === "object" && one !== null) : [];
}
