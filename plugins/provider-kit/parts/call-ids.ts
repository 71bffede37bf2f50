/**
 * Ids of tool calls that a client can tell apart: an id that the conversation, or this response, holds already is replaced.
 * Some upstreams count anew in each response (`call_0`), and clients then take the later call for an earlier one.
 */
import { mintCallId } from "../response/call-ids.ts";
import type { ChatCompletion, ChatRequest } from "../types/format.ts";
import type { StreamPart } from "../types/parts.ts";

export class CallIds {
  readonly #messages: ChatRequest["messages"];
  #taken: Set<string> | undefined;

  /** `request`: its messages are looked through when the first call comes. */
  constructor({ messages }: Pick<ChatRequest, "messages">) {
    this.#messages = messages;
  }

  /** The id itself where it is new, else a fresh one. */
  claim(id: string): string {
    this.#taken ??= idsIn(this.#messages);
    const own = this.#taken.has(id) ? mintCallId() : id;
    this.#taken.add(own);
    return own;
  }

  /** The same list where all ids are new. */
  claimParts(parts: StreamPart[]): StreamPart[] {
    if (!parts.some(({ type }) => type === "tool-call")) return parts;
    return parts.map((part) => {
      if (part.type !== "tool-call") return part;
      const id = this.claim(part.id);
      return id === part.id ? part : { ...part, id, source: undefined };
    });
  }

  /** Replaces ids in a whole response; true where there were some. */
  claimCompletion({ choices }: ChatCompletion): boolean {
    // Routes beside chat answer in forms of their own.
    if (!Array.isArray(choices)) return false;
    let changed = false;
    for (const { message } of choices) {
      for (const call of message?.tool_calls ?? []) {
        if (call.id === undefined) continue;
        const id = this.claim(call.id);
        changed ||= id !== call.id;
        call.id = id;
      }
    }
    return changed;
  }
}

function idsIn(messages: ChatRequest["messages"]): Set<string> {
  const ids = new Set<string>();
  for (const { tool_calls: calls } of messages)
    for (const { id } of calls ?? []) if (id !== undefined) ids.add(id);
  return ids;
}
