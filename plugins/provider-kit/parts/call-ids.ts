/**
 * Makes the ids of tool calls unique: replaces an id that the conversation or this response already contains.
 * Some upstreams restart their count in each response (`call_0`), and clients then confuse the later call with an earlier
 * one.
 */
import { mintCallId } from "../response/call-ids.ts";
import type { ChatCompletion, ChatRequest } from "../types/format.ts";
import type { StreamPart } from "../types/parts.ts";

export class CallIds {
  readonly #messages: ChatRequest["messages"];
  #usedIds: Set<string> | undefined;

  /** The messages of the request are searched for ids only when the response has a call. */
  constructor({ messages }: Pick<ChatRequest, "messages">) {
    this.#messages = messages;
  }

  /** Returns the id itself if it is new, otherwise a fresh one. */
  claim(id: string): string {
    this.#usedIds ??= idsIn(this.#messages);
    const uniqueId = this.#usedIds.has(id) ? mintCallId() : id;
    this.#usedIds.add(uniqueId);
    return uniqueId;
  }

  /** Returns the parts with unique ids; the same list if all ids are new. */
  claimParts(parts: StreamPart[]): StreamPart[] {
    if (!parts.some(({ type }) => type === "tool-call")) return parts;
    return parts.map((part) => {
      if (part.type !== "tool-call") return part;
      const id = this.claim(part.id);
      return id === part.id ? part : { ...part, id, source: undefined };
    });
  }

  /** Returns a whole response with unique ids; the same response if all ids are new. */
  claimCompletion(completion: ChatCompletion): ChatCompletion {
    const { choices } = completion;
    // Routes other than chat have other forms of response.
    if (!Array.isArray(choices)) return completion;
    const claimed = choices.map((choice) => this.#claimChoice(choice));
    const isSame = claimed.every((choice, i) => choice === choices[i]);
    return isSame ? completion : { ...completion, choices: claimed };
  }

  #claimChoice(choice: Choice): Choice {
    const calls = choice.message?.tool_calls;
    if (!Array.isArray(calls)) return choice;
    const claimed = calls.map((call) => {
      const id = call.id === undefined ? undefined : this.claim(call.id);
      return id === call.id ? call : { ...call, id: id! };
    });
    if (claimed.every((call, i) => call === calls[i])) return choice;
    return { ...choice, message: { ...choice.message, tool_calls: claimed } };
  }
}

type Choice = ChatCompletion["choices"][number];

function idsIn(messages: ChatRequest["messages"]): Set<string> {
  const ids = new Set<string>();
  for (const { tool_calls: calls } of messages)
    for (const { id } of calls ?? []) if (id !== undefined) ids.add(id);
  return ids;
}
