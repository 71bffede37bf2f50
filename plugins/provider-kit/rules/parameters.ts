/** Rules for parameters and members of messages that some servers refuse or name differently. */
import { hasCalls } from "./texts.ts";
import { eachMessage } from "./tool-ids.ts";
import { isObject } from "../request/is-object.ts";
import type { JsonObject } from "../request/read-value.ts";
import type { RequestRule, RuleChat, RuleMessage, RuleNotes } from "../types/rules.ts";

/** Removes parameters that the server refuses, and records them. */
export function noParameters(names: readonly string[], only?: RequestRule["only"]): RequestRule {
  const list = names.map((name) => `\`${name}\``).join(", ");
  return {
    name: "no-parameters",
    demand: `The server refuses requests with ${list}.`,
    remedy: "Leaves out such parameters, and names them in the header `x-portico-dropped`.",
    ...(only && { only }),
    chat(request, notes) {
      const dropped = names.filter((name) => request[name] != null);
      if (dropped.length === 0) return request;
      const rest: RuleChat = { ...request };
      for (const name of dropped) {
        notes.drop(name);
        delete rest[name];
      }
      return rest;
    },
  };
}

/** Renames the limit of tokens to the name that the server accepts. */
export function limitNamed(
  name: "max_tokens" | "max_completion_tokens",
  only?: RequestRule["only"],
): RequestRule {
  const otherName = name === "max_tokens" ? "max_completion_tokens" : "max_tokens";
  return {
    name: "limit-name",
    demand: `The token limit must be called \`${name}\`.`,
    remedy: `Sends \`${otherName}\` as \`${name}\`.`,
    ...(only && { only }),
    chat(request, notes) {
      if (request[otherName] == null) return request;
      const { [otherName]: limit, ...rest } = request;
      notes.change(otherName);
      // If a request has both, the value of the newer name applies.
      const value = name === "max_tokens" ? limit : (rest[name] ?? limit);
      return { ...rest, [name]: value } as RuleChat;
    },
  };
}

/** Removes reasoning and signatures that come from another provider's responses in the history. */
export const onlyOwnMembers: RequestRule = {
  name: "only-own-members",
  demand: "Messages may have only the members that OpenAI's format defines.",
  remedy:
    "Leaves out `reasoning_content` and `extra_content`, which come from other providers' responses.",
  chat(request, notes) {
    return eachMessage(request, (message, place) => withoutForeign(message, place, notes));
  },
};

const FOREIGN = ["reasoning_content", "extra_content"];

function withoutForeign(message: RuleMessage, place: string, notes: RuleNotes): RuleMessage {
  if (message.role !== "assistant") return message;
  const names = FOREIGN.filter((name) => message[name] != null);
  const calls = message["tool_calls"];
  const hasSignature =
    Array.isArray(calls) && calls.some((call) => call?.["extra_content"] != null);
  if (names.length === 0 && !hasSignature) return message;
  const ownMembers = { ...message };
  for (const name of names) {
    notes.change(`${place}.${name}`);
    delete ownMembers[name];
  }
  if (!hasSignature) return ownMembers;
  const ownCalls = calls.map((call: JsonObject, i) => {
    if (call["extra_content"] == null) return call;
    notes.change(`${place}.tool_calls[${i}].extra_content`);
    const { extra_content: _, ...rest } = call;
    return rest;
  });
  return { ...ownMembers, tool_calls: ownCalls };
}

/** DeepSeek refuses `reasoning_content` in messages without calls. */
export const reasoningOnlyBesideCalls: RequestRule = {
  name: "reasoning-only-beside-calls",
  demand: "Only messages with tool calls may contain reasoning.",
  remedy: "Leaves `reasoning_content` out of other messages.",
  chat(request, notes) {
    return eachMessage(request, (message, place) => {
      if (message.role !== "assistant" || message["reasoning_content"] == null || hasCalls(message))
        return message;
      notes.change(`${place}.reasoning_content`);
      const { reasoning_content: _, ...rest } = message;
      return rest as RuleMessage;
    });
  },
};

/**
 * DeepSeek, thinking: "The reasoning_content in the thinking mode must be passed back to the API." It may be empty. `thinks`
 * returns true for a model that thinks unless the request turns thinking off.
 */
export function reasoningBesideCalls(thinks: (model: string) => boolean): RequestRule {
  return {
    name: "reasoning-beside-calls",
    demand: "A thinking model must receive the reasoning of each earlier tool call.",
    remedy:
      "Adds `reasoning_content` to messages with tool calls; its value is the message's `reasoning`, or an empty string.",
    chat(request, notes) {
      if (!isThinking(request, thinks(notes.target.model))) return request;
      return eachMessage(request, (message, place) => {
        if (message.role !== "assistant" || !hasCalls(message)) return message;
        if (typeof message["reasoning_content"] === "string") return message;
        notes.change(`${place}.reasoning_content`);
        const { reasoning, ...rest } = message;
        const text = typeof reasoning === "string" ? reasoning : "";
        return { ...rest, reasoning_content: text } as RuleMessage;
      });
    },
  };
}

function isThinking(request: RuleChat, byDefault: boolean): boolean {
  const thinking = request["thinking"];
  if (isObject(thinking)) return thinking["type"] !== "disabled";
  const effort = request["reasoning_effort"];
  return effort == null ? byDefault : effort !== "none";
}
