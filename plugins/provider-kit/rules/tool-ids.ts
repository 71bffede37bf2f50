/** Rules for the ids of tool calls, which have to exist and to be unique across the conversation. */
import type { JsonObject } from "../request/read-value.ts";
import type { RequestRule, RuleChat, RuleMessage, RuleNotes } from "../types/rules.ts";

/**
 * Renames ids that a history repeats because a model restarts its count in each response (`call_0`). `idAtUpstream` returns
 * the form in which an id is sent, since two different ids may have the same form there.
 */
export function uniqueToolIds(idAtUpstream: (id: string) => string): RequestRule {
  return {
    name: "unique-tool-ids",
    demand: "The ids of tool calls must be unique in the conversation.",
    remedy:
      "Adds a number to an id that an earlier call already has (`call_0` becomes `call_0_2`), both in the call and in its result. The new id is the same in every later request.",
    chat(request, notes) {
      const ids = new IdRegister(idAtUpstream);
      return eachMessage(request, (message, place) => {
        ids.observeRole(message.role);
        return message.role === "assistant"
          ? renameCalls(message, place, ids, notes)
          : renameResult(message, place, ids, notes);
      });
    },
    messages(request, notes) {
      // Ids of this form are sent unchanged.
      const ids = new IdRegister((id) => id);
      const changed = eachMessage(request as unknown as RuleChat, (message, place) => {
        ids.observeRole(message.role);
        return renameBlocks(message, place, ids, notes);
      });
      return changed as unknown as JsonObject;
    },
  };
}

/** The ids of the conversation up to the current message. */
class IdRegister {
  readonly #idAtUpstream: (id: string) => string;
  readonly #usedIds = new Set<string>();
  /** The new ids of calls that have no result yet, by their old id, in the order of the calls. */
  readonly #pendingIds = new Map<string, string[]>();
  #lastRole = "";

  constructor(idAtUpstream: (id: string) => string) {
    this.#idAtUpstream = idAtUpstream;
  }

  /** Forgets pending calls when a new turn of the assistant begins. Consecutive messages of the assistant are one turn. */
  observeRole(role: string): void {
    if (role === "assistant" && this.#lastRole !== "assistant") this.#pendingIds.clear();
    this.#lastRole = role;
  }

  /** Returns the unique id of a call. */
  addCall(id: string): string {
    let unique = id;
    for (let n = 2; unique === "" || this.#usedIds.has(this.#idAtUpstream(unique)); n++)
      unique = `${id === "" ? "call" : id}_${n}`;
    this.#usedIds.add(this.#idAtUpstream(unique));
    const pendingIds = this.#pendingIds.get(id);
    if (pendingIds === undefined) this.#pendingIds.set(id, [unique]);
    else pendingIds.push(unique);
    return unique;
  }

  /** Returns the unique id of the call that a result belongs to. */
  takeResult(id: string): string {
    return this.#pendingIds.get(id)?.shift() ?? id;
  }
}

function renameCalls(
  message: RuleMessage,
  place: string,
  ids: IdRegister,
  notes: RuleNotes,
): RuleMessage {
  const calls = message["tool_calls"];
  if (!Array.isArray(calls)) return message;
  const renamed = calls.map((call: JsonObject, i) => {
    const oldId = typeof call["id"] === "string" ? call["id"] : "";
    const id = ids.addCall(oldId);
    if (id === oldId) return call;
    notes.change(`${place}.tool_calls[${i}].id`);
    return { ...call, id };
  });
  return replaceMember(message, "tool_calls", calls, renamed);
}

function renameResult(
  message: RuleMessage,
  place: string,
  ids: IdRegister,
  notes: RuleNotes,
): RuleMessage {
  if (message.role !== "tool") return message;
  const oldId = typeof message["tool_call_id"] === "string" ? message["tool_call_id"] : "";
  const id = ids.takeResult(oldId);
  if (id === oldId) return message;
  notes.change(`${place}.tool_call_id`);
  return { ...message, tool_call_id: id };
}

function renameBlocks(
  message: RuleMessage,
  place: string,
  ids: IdRegister,
  notes: RuleNotes,
): RuleMessage {
  const { content } = message;
  if (!Array.isArray(content)) return message;
  const renamed = content.map((block: JsonObject, i) => {
    const member = ID_MEMBERS[String(block?.["type"])];
    const oldId = member === undefined ? undefined : block[member];
    if (member === undefined || typeof oldId !== "string") return block;
    const id = member === "id" ? ids.addCall(oldId) : ids.takeResult(oldId);
    if (id === oldId) return block;
    notes.change(`${place}.content[${i}].${member}`);
    return { ...block, [member]: id };
  });
  return replaceMember(message, "content", content, renamed);
}

const ID_MEMBERS: Record<string, "id" | "tool_use_id"> = {
  tool_use: "id",
  tool_result: "tool_use_id",
};

function replaceMember(
  message: RuleMessage,
  member: string,
  oldItems: readonly unknown[],
  newItems: readonly unknown[],
): RuleMessage {
  const isSame = newItems.every((item, i) => item === oldItems[i]);
  return isSame ? message : { ...message, [member]: newItems };
}

/** Returns the request with each message replaced by the result of `change`; the same request if none changed. */
export function eachMessage(
  request: RuleChat,
  change: (message: RuleMessage, place: string) => RuleMessage,
): RuleChat {
  if (!Array.isArray(request.messages)) return request;
  const messages = request.messages.map((message, i) => change(message, `messages[${i}]`));
  const isSame = messages.every((message, i) => message === request.messages[i]);
  return isSame ? request : { ...request, messages };
}

/** Converts `function_call` and messages of the role `function`, which old clients send without ids, to tool calls. */
export const functionCallsAsTools: RequestRule = {
  name: "function-calls-as-tools",
  demand: "Earlier calls of functions must be tool calls with ids.",
  remedy:
    "Converts `function_call` into a tool call, and a message with the role `function` into the result of that call.",
  chat(request, notes) {
    return eachMessage(request, (message, place) => {
      if (message.role === "function") {
        notes.change(place);
        const { role: _, name, ...rest } = message;
        return { ...rest, role: "tool", tool_call_id: idOfFunction(name) };
      }
      const call = message["function_call"] as JsonObject | null | undefined;
      if (message.role !== "assistant" || call == null || message["tool_calls"] != null)
        return message;
      notes.change(`${place}.function_call`);
      const { function_call: _, ...rest } = message;
      const id = idOfFunction(call["name"]);
      return { ...rest, tool_calls: [{ id, type: "function", function: call }] } as RuleMessage;
    });
  },
};

function idOfFunction(name: unknown): string {
  return `call_${typeof name === "string" ? name : ""}`;
}
