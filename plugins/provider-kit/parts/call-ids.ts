/**
 * Makes the ids of tool calls unique: an id that the conversation, or this response, contains already is replaced.
 * Some upstreams restart their count in each response (`call_0`), and clients then confuse the later call with an earlier
 * one.
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

  /** A whole response with ids that are new; the same response where all are. */
  claimCompletion(completion: ChatCompletion): ChatCompletion {
    const { choices } = completion;
    // Routes beside chat answer in forms of their own.
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
