/** Finds the strings of an event that are parts of longer texts, and the choices or blocks that it continues or ends. */
import { isObject, type JsonMembers } from "portico/provider";

/** One delta of a text that is spread over events: the member `key` of `holder`. */
export interface TextDelta {
  /** Identifies the text; it is equal in all events of the stream. */
  id: string;
  /** The choice or block that the text is a part of. */
  block: string;
  holder: JsonMembers;
  key: string;
}

/** Members whose strings are complete in each event: a name is not spread over several. */
const WHOLE_MEMBERS = new Set(["role", "type", "id", "name", "signature"]);
/** Whole members that accompany every delta, so that they do not show that a block continues. */
const LABELS = new Set(["role", "type"]);

interface Contents {
  deltas: TextDelta[];
  /** The blocks that this event continues or ends; "nothing" if no earlier text can continue after this event. */
  continued: ReadonlySet<string> | "nothing";
  ended: ReadonlySet<string>;
}

export function contentsOf(event: JsonMembers): Contents {
  const collected = new CollectedContents();
  const { delta, choices, type } = event;
  if (Array.isArray(choices)) {
    for (const [i, choice] of choices.entries())
      if (isObject(choice)) collected.addChoice(choice, String(choice["index"] ?? i));
    return collected;
  }
  const block = `delta${String(event["index"] ?? "")}`;
  if (typeof delta === "string") collected.addText(block, block, event, "delta");
  else collected.addTexts(block, delta, block);
  // In other formats the event that ends a block comes before any event that is neither a delta nor a ping.
  if (collected.deltas.length > 0 || type === "ping") return collected;
  return { deltas: collected.deltas, continued: "nothing", ended: collected.ended };
}

class CollectedContents implements Contents {
  readonly deltas: TextDelta[] = [];
  readonly continued = new Set<string>();
  readonly ended = new Set<string>();

  addChoice(choice: JsonMembers, block: string): void {
    this.addTexts(block, choice["delta"], block);
    if (typeof choice["text"] === "string") this.addText(block, `${block}.text`, choice, "text");
    if (choice["finish_reason"] == null) return;
    this.ended.add(block);
    this.continued.add(block);
  }

  addText(block: string, id: string, holder: JsonMembers, key: string): void {
    this.deltas.push({ id, block, holder, key });
    if (holder[key] !== "") this.continued.add(block);
  }

  /** Adds all texts of a value, at any depth. */
  addTexts(block: string, value: unknown, id: string): void {
    if (Array.isArray(value)) {
      for (const [i, item] of value.entries())
        this.addTexts(block, item, `${id}[${isObject(item) ? (item["index"] ?? i) : i}]`);
    } else if (isObject(value)) {
      for (const key of Object.keys(value)) this.#addMember(block, value, key, id);
    }
  }

  #addMember(block: string, holder: JsonMembers, key: string, id: string): void {
    if (typeof holder[key] !== "string") this.addTexts(block, holder[key], `${id}.${key}`);
    else if (!WHOLE_MEMBERS.has(key)) this.addText(block, `${id}.${key}`, holder, key);
    else if (!LABELS.has(key)) this.continued.add(block);
  }
}
