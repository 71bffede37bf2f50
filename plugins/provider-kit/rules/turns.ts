/** Rules for the order and the content of turns. */
import type { PorticoError } from "portico";
import { refused } from "../request/fields.ts";
import { insertMessage, rememberPlaces } from "./places.ts";
import { FILLER, hasCalls, isBlank, isBlankText, isSystem, messageText } from "./texts.ts";
import { eachMessage } from "./tool-ids.ts";
import { isObject } from "../request/is-object.ts";
import type { JsonObject } from "../request/read-value.ts";
import type { RequestRule, RuleMessage, RuleMessages, RuleNotes } from "../types/rules.ts";

/** `before`: whether `any` first turn of the assistant needs a user turn before it, or only one with `calls`. */
export function userTurnFirst(before: "any" | "calls"): RequestRule {
  return {
    name: "user-turn-first",
    demand:
      before === "any"
        ? "The first turn must be a user turn."
        : "The first turn must not be an assistant turn that calls tools.",
    remedy: `Inserts the user turn \`${FILLER}\` at the beginning if it is missing there.`,
    chat(request, notes) {
      const { messages } = request;
      const first = messages.findIndex((message) => !isSystem(message) && !isBlank(message));
      if (first === -1 || messages[first]!.role !== "assistant") return request;
      if (before === "calls" && !leadingTurnCalls(messages.slice(first))) return request;
      notes.change(`messages[${first}]`);
      return insertMessage(request, first, { role: "user", content: FILLER });
    },
  };
}

/** True if the first turn calls tools. Consecutive messages of the assistant are one turn. */
function leadingTurnCalls(messages: readonly RuleMessage[]): boolean {
  for (const message of messages) {
    if (isSystem(message) || isBlank(message)) continue;
    if (message.role !== "assistant") return false;
    if (hasCalls(message)) return true;
  }
  return false;
}

/** Mistral, code 3230: "Unexpected role 'user' after role 'tool'". */
export const assistantAfterTool: RequestRule = {
  name: "assistant-after-tool",
  demand: "Between a tool result and the next user turn there must be an assistant turn.",
  remedy: `Inserts the assistant turn \`${FILLER}\` between them.`,
  chat(request, notes) {
    let changed = request;
    // Iterates from the end, so that the indexes of earlier messages remain valid.
    for (let i = request.messages.length - 1; i > 0; i--) {
      const { role } = request.messages[i]!;
      const previousRole = request.messages[i - 1]!.role;
      const isAfterTool = previousRole === "tool" || previousRole === "function";
      if (!isAfterTool || role === "tool" || role === "function" || role === "assistant") continue;
      notes.change(`messages[${i}]`);
      changed = insertMessage(changed, i, { role: "assistant", content: FILLER });
    }
    return changed;
  },
};

/** Mistral, code 3240: "Assistant message must have either content or tool_calls, but not none." */
export const noBlankAssistant: RequestRule = {
  name: "no-blank-assistant",
  demand: "An assistant message must have text or tool calls.",
  remedy: "Leaves out assistant messages that have neither.",
  chat(request, notes) {
    const isEmpty = (message: RuleMessage) => message.role === "assistant" && isBlank(message);
    if (!request.messages.some(isEmpty)) return request;
    for (const [i, message] of request.messages.entries())
      if (isEmpty(message)) notes.change(`messages[${i}]`);
    const messages = rememberPlaces(request.messages).filter((message) => !isEmpty(message));
    return { ...request, messages };
  },
};

/** Mistral: "Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant". */
export const prefixLastAssistant: RequestRule = {
  name: "prefix-last-assistant",
  demand:
    "The last message may be an assistant message only if it has `prefix: true`; no earlier message may have it.",
  remedy: "Sets `prefix` on the last message, and removes it from earlier messages.",
  chat(request, notes) {
    const last = request.messages.length - 1;
    const messages = request.messages.map((message, i) => {
      if (message.role !== "assistant" || hasCalls(message)) return message;
      const isPrefix = i === last;
      if ((message["prefix"] === true) === isPrefix) return message;
      notes.change(`messages[${i}].prefix`);
      return { ...message, prefix: isPrefix ? true : undefined };
    });
    const isSame = messages.every((message, i) => message === request.messages[i]);
    return isSame ? request : { ...request, messages };
  },
};

/** Anthropic: "text content blocks must be non-empty". Gemini responds to such a part with 400, too. */
export const noBlankTexts: RequestRule = {
  name: "no-blank-texts",
  demand: "No text may be empty or consist only of white space.",
  remedy: "Leaves out such texts, and messages that contain nothing else.",
  chat(request, notes) {
    if (!request.messages.some(hasBlankText)) return request;
    const messages = rememberPlaces(request.messages).filter((message) => !isBlank(message));
    // The provider itself refuses a request without any text.
    if (messages.length === 0) return request;
    for (const [i, message] of request.messages.entries()) {
      if (isBlank(message)) notes.change(`messages[${i}]`);
      else noteBlankParts(message, `messages[${i}].content`, notes);
    }
    return { ...request, messages: messages.map(withoutBlankParts) };
  },
};

function hasBlankText(message: RuleMessage): boolean {
  const { role, content } = message;
  if (role === "tool") return false;
  return isBlank(message) || (Array.isArray(content) && content.some(isBlankText));
}

function noteBlankParts({ role, content }: RuleMessage, place: string, notes: RuleNotes): void {
  if (role === "tool" || !Array.isArray(content)) return;
  for (const [i, part] of content.entries()) if (isBlankText(part)) notes.change(`${place}[${i}]`);
}

function withoutBlankParts(message: RuleMessage): RuleMessage {
  const { role, content } = message;
  if (role === "tool" || !Array.isArray(content) || !content.some(isBlankText)) return message;
  return { ...message, content: content.filter((part) => !isBlankText(part)) };
}

/** Anthropic: "final assistant content cannot end with trailing whitespace". */
export const noTrailingSpace: RequestRule = {
  name: "no-trailing-space",
  demand: "A partial response (assistant prefill) must not end with white space.",
  remedy: "Removes the white space.",
  chat: (request, notes) => trimLastMessage(request, notes),
  messages: (request, notes) => trimLastMessage(request, notes),
};

function trimLastMessage<Request extends RuleMessages>(
  request: Request,
  notes: RuleNotes,
): Request {
  const { messages } = request;
  if (!Array.isArray(messages)) return request;
  const at = messages.length - 1;
  const last = messages[at] as RuleMessage | undefined;
  if (last?.role !== "assistant" || hasCalls(last)) return request;
  const content = trimContent(last.content);
  if (content === last.content) return request;
  notes.change(`messages[${at}].content`);
  return { ...request, messages: [...messages.slice(0, at), { ...last, content }] };
}

/** Removes white space at the end of the last text. Returns the same content if there is none. */
function trimContent(content: unknown): unknown {
  if (typeof content === "string") return content.trimEnd();
  const part: unknown = Array.isArray(content) ? content.at(-1) : undefined;
  if (!isObject(part) || part["type"] !== "text" || typeof part["text"] !== "string")
    return content;
  const text = part["text"].trimEnd();
  if (text === part["text"]) return content;
  return [...(content as unknown[]).slice(0, -1), { ...part, text }];
}

/** Anthropic, Bedrock and Gemini accept system texts separately from the conversation, which must not be empty. */
export const systemNotAlone: RequestRule = {
  name: "system-not-alone",
  demand: "There must be a turn besides the system messages.",
  remedy: "Sends system messages as user messages if the conversation has no other messages.",
  chat(request, notes) {
    const { messages } = request;
    if (!messages.some((message) => isSystem(message) && !isBlank(message))) return request;
    if (!messages.every((message) => isSystem(message) || isBlank(message))) return request;
    const asUser = messages.map((message, i) => {
      if (!isSystem(message)) return message;
      notes.change(`messages[${i}].role`);
      return { ...message, role: "user" };
    });
    return { ...request, messages: asUser };
  },
};

/** `takesPrefill` returns true for a model that continues a partial response. */
export function noPrefill(takesPrefill: (model: string) => boolean): RequestRule {
  return {
    name: "no-prefill",
    demand: "Claude 4.6 and later do not continue a partial response (assistant prefill).",
    remedy: "Refuses such a request with status 400.",
    only: { where: "Claude 4.6 and later", test: ({ model }) => !takesPrefill(model) },
    chat(request, notes) {
      const at = request.messages.findLastIndex(
        (message) => !isSystem(message) && !isBlank(message),
      );
      const last = request.messages[at];
      if (last?.role === "assistant" && !hasCalls(last)) throw prefillRefused(at, notes);
      return request;
    },
    messages(request, notes) {
      const messages = request["messages"];
      if (!Array.isArray(messages)) return request;
      const at = messages.findLastIndex((message: RuleMessage) => !isSystem(message));
      const last = messages[at] as RuleMessage | undefined;
      if (last?.role === "assistant" && !endsWithServerTool(last)) throw prefillRefused(at, notes);
      return request;
    },
  };
}

/** True for a paused turn, which ends with a call that Anthropic itself runs. It is sent back unchanged and continues. */
function endsWithServerTool({ content }: RuleMessage): boolean {
  const last = Array.isArray(content) ? (content.at(-1) as JsonObject | undefined) : undefined;
  const type = last?.["type"];
  return typeof type === "string" && /^(?:server_tool_use|mcp_tool_use|.+_tool_result)$/.test(type);
}

function prefillRefused(at: number, { target }: RuleNotes): PorticoError {
  const message = `The model \`${target.model}\` does not continue a partial response (assistant prefill). End \`messages\` with a user message.`;
  return refused(`messages[${at}]`, message);
}

/**
 * Chat templates of open models accept a system message only at the beginning. `after` lists the roles after which one is
 * refused. Absent: a single one is allowed, at the beginning.
 */
export function laterSystemToUser(after?: readonly string[]): RequestRule {
  const isStrict = after === undefined;
  return {
    name: "later-system-to-user",
    demand: isStrict
      ? "Only one system message is allowed, at the beginning."
      : `No system message may follow a message with the role ${after.join(" or ")}.`,
    remedy: isStrict
      ? "Joins the system messages at the beginning, and moves the text of a later system message into the next user turn."
      : "Moves the text of such a system message into the next user turn.",
    chat(request, notes) {
      const isLater = (i: number) =>
        isStrict ? i > 0 : after.includes(request.messages[i - 1]?.role ?? "");
      if (!request.messages.some((message, i) => isSystem(message) && isLater(i))) return request;
      const mover = new SystemTextMover(notes);
      for (const [i, message] of rememberPlaces(request.messages).entries())
        mover.push(message, `messages[${i}]`, isLater(i));
      return { ...request, messages: mover.end() };
    },
  };
}

/** Collects messages, and moves the texts of later system messages into the next user turn. */
class SystemTextMover {
  readonly #notes: RuleNotes;
  readonly #messages: RuleMessage[] = [];
  #pendingMessages: RuleMessage[] = [];

  constructor(notes: RuleNotes) {
    this.#notes = notes;
  }

  push(message: RuleMessage, place: string, isLater: boolean): void {
    const last = this.#messages.at(-1);
    if (!isSystem(message)) {
      this.#messages.push(message.role === "user" ? this.#withPendingTexts(message) : message);
      return;
    }
    if (!isLater) {
      this.#messages.push(message);
      return;
    }
    this.#notes.change(place);
    const isSecondSystemMessage =
      this.#messages.length === 1 && last !== undefined && isSystem(last);
    if (isSecondSystemMessage) this.#messages[0] = joinContents(last, message.content);
    else this.#pendingMessages.push(message);
  }

  end(): RuleMessage[] {
    if (this.#pendingMessages.length === 0) return this.#messages;
    const last = this.#messages.at(-1);
    const texts = this.#pendingMessages.map(messageText).join("\n\n");
    if (last?.role === "user") this.#messages.splice(-1, 1, joinContents(last, texts));
    else this.#messages.push({ ...this.#pendingMessages[0]!, role: "user", content: texts });
    return this.#messages;
  }

  #withPendingTexts(message: RuleMessage): RuleMessage {
    if (this.#pendingMessages.length === 0) return message;
    const texts = this.#pendingMessages.map(messageText).join("\n\n");
    this.#pendingMessages = [];
    return { ...message, content: joinContent(texts, message.content) };
  }
}

function joinContents(message: RuleMessage, more: unknown): RuleMessage {
  return { ...message, content: joinContent(message.content, more) };
}

function joinContent(first: unknown, second: unknown): unknown {
  if (typeof first === "string" && typeof second === "string") return `${first}\n\n${second}`;
  return [...partsOf(first), ...partsOf(second)];
}

function partsOf(content: unknown): unknown[] {
  if (Array.isArray(content)) return content;
  return typeof content === "string" ? [{ type: "text", text: content }] : [];
}

/** For servers that do not support the role `developer`. */
export const developerAsSystem: RequestRule = {
  name: "developer-as-system",
  demand: "The role `developer` is not allowed.",
  remedy: "Sends such messages with the role `system`.",
  chat(request, notes) {
    return eachMessage(request, (message, place) => {
      if (message.role !== "developer") return message;
      notes.change(`${place}.role`);
      return { ...message, role: "system" };
    });
  },
};
