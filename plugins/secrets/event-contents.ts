/** Which strings of an event are a part of a longer text, and which of these texts it goes on with or ends. */
import { isObject, type JsonMembers } from "portico/provider";

/** A string that grows by deltas. */
export interface Leaf {
  /** The same in all events. */
  id: string;
  /** The choice or block that it is a part of. */
  of: string;
  holder: JsonMembers;
  key: string;
}

/** Strings that say something by themselves: a name is not spread over events. */
const WHOLE = new Set(["role", "type", "id", "name", "signature"]);
/** Of these, what comes with each delta and begins nothing. */
const BESIDE = new Set(["role", "type"]);

interface Contents {
  leaves: Leaf[];
  /** Choices in which something goes on or ends. */
  goesOn: ReadonlySet<string> | "nothing";
  ended: ReadonlySet<string>;
}

export function contentsOf(event: JsonMembers): Contents {
  const found = new Found();
  const { delta, choices, type } = event;
  if (Array.isArray(choices)) {
    for (const [i, choice] of choices.entries())
      if (isObject(choice)) found.choice(choice, String(choice["index"] ?? i));
    return found;
  }
  const of = `delta${String(event["index"] ?? "")}`;
  if (typeof delta === "string") found.text(of, of, event, "delta");
  else found.texts(of, delta, of);
  // In other formats a block has an end of its own, which comes before anything else that is no ping.
  if (found.leaves.length > 0 || type === "ping") return found;
  return { leaves: found.leaves, goesOn: "nothing", ended: found.ended };
}

class Found implements Contents {
  readonly leaves: Leaf[] = [];
  readonly goesOn = new Set<string>();
  readonly ended = new Set<string>();

  choice(choice: JsonMembers, of: string): void {
    this.texts(of, choice["delta"], of);
    if (typeof choice["text"] === "string") this.text(of, `${of}.text`, choice, "text");
    if (choice["finish_reason"] == null) return;
    this.ended.add(of);
    this.goesOn.add(of);
  }

  text(of: string, id: string, holder: JsonMembers, key: string): void {
    this.leaves.push({ id, of, holder, key });
    if (holder[key] !== "") this.goesOn.add(of);
  }

  /** All texts of a value, at any depth. */
  texts(of: string, value: unknown, id: string): void {
    if (Array.isArray(value)) {
      for (const [i, item] of value.entries())
        this.texts(of, item, `${id}[${isObject(item) ? (item["index"] ?? i) : i}]`);
    } else if (isObject(value)) {
      for (const key of Object.keys(value)) this.#member(of, value, key, id);
    }
  }

  #member(of: string, holder: JsonMembers, key: string, id: string): void {
    if (typeof holder[key] !== "string") this.texts(of, holder[key], `${id}.${key}`);
    else if (!WHOLE.has(key)) this.text(of, `${id}.${key}`, holder, key);
    else if (!BESIDE.has(key)) this.goesOn.add(of);
  }
}
