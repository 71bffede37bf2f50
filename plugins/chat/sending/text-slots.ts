/** Where the text is in responses of OpenAI's routes beside chat: completions, transcriptions, translations. */

type Members = Record<string, unknown>;

/** One text of a response, or of one event of a stream. */
export interface TextSlot {
  /** Of the text that it is a piece of. */
  key: number;
  text: string;
  /** The whole text, told once more behind its pieces. */
  whole?: boolean;
  /** No piece comes after this one. */
  last?: boolean;
  set(text: string): void;
}

/** Those of a whole response. What tells a changed text a second time, word by word, goes. */
export function slotsOfResponse(response: Members): TextSlot[] {
  const slots = objectsIn(response.choices).flatMap((choice, key) => slotsOfChoice(choice, "message", key));
  const [own] = slotAt(response, "text", 0);
  if (own === undefined) return slots;
  const { set } = own;
  const spoken: TextSlot = {
    ...own,
    set(text) {
      set(text);
      delete response.words;
      for (const segment of objectsIn(response.segments)) delete segment.words;
    },
  };
  return [spoken, ...objectsIn(response.segments).flatMap((segment, i) => slotAt(segment, "text", i + 1))];
}

/** Those of one event of a stream. */
export function slotsOfEvent(event: Members): TextSlot[] {
  if (event.type === "transcript.text.delta") return slotAt(event, "delta", 0);
  if (event.type === "transcript.text.done") return slotAt(event, "text", 0).map((slot) => ({ ...slot, whole: true }));
  // Told while its pieces flow: of one speaker, or of one part.
  if (event.type === "transcript.text.segment") return slotAt(event, "text", 1);
  return objectsIn(event.choices).flatMap((choice) => {
    const key = typeof choice.index === "number" ? choice.index : 0;
    return slotsOfChoice(choice, "delta", key).map((slot) => ({ ...slot, last: choice.finish_reason != null }));
  });
}

/** Some servers answer a text completion in chat's form: that is a text of its own, should both be there. */
function slotsOfChoice(choice: Members, chat: "message" | "delta", key: number): TextSlot[] {
  const spoken = objectsIn([choice[chat]]).flatMap((message) => slotAt(message, "content", -1 - key));
  return [...slotAt(choice, "text", key), ...spoken];
}

function slotAt(object: Members, name: string, key: number): TextSlot[] {
  const text = object[name];
  if (typeof text !== "string") return [];
  return [
    {
      key,
      text,
      set(changed) {
        object[name] = changed;
      },
    },
  ];
}

function objectsIn(value: unknown): Members[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === "object" && one !== null) : [];
}
