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
  const leaves: Leaf[] = [];
  const goesOn = new Set<string>();
  const ended = new Set<string>();
  const grows = (of: string, id: string, holder: JsonMembers, key: string): void => {
    leaves.push({ id, of, holder, key });
    if (holder[key] !== "") goesOn.add(of);
  };
  const visit = (of: string, value: unknown, id: string): void => {
    if (Array.isArray(value)) {
      for (const [i, item] of value.entries())
        visit(of, item, `${id}[${isObject(item) ? (item["index"] ?? i) : i}]`);
    } else if (isObject(value)) {
      for (const key of Object.keys(value)) {
        if (typeof value[key] !== "string") visit(of, value[key], `${id}.${key}`);
        else if (!WHOLE.has(key)) grows(of, `${id}.${key}`, value, key);
        else if (!BESIDE.has(key)) goesOn.add(of);
      }
    }
  };
  const { delta, choices, type } = event;
  if (Array.isArray(choices)) {
    for (const [i, choice] of choices.entries()) {
      if (!isObject(choice)) continue;
      const of = String(choice["index"] ?? i);
      visit(of, choice["delta"], of);
      if (typeof choice["text"] === "string") grows(of, `${of}.text`, choice, "text");
      if (choice["finish_reason"] != null) ended.add(of);
    }
    for (const of of ended) goesOn.add(of);
    return { leaves, goesOn, ended };
  }
  const of = `delta${String(event["index"] ?? "")}`;
  if (typeof delta === "string") grows(of, of, event, "delta");
  else visit(of, delta, of);
  // In other formats a block has an end of its own, which comes before anything else that is no ping.
  return { leaves, goesOn: leaves.length > 0 || type === "ping" ? goesOn : "nothing", ended };
}
